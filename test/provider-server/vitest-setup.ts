/// <reference path="./provided-context.d.ts" />
import type { TestProject } from 'vitest/node';
import { startProviderServer } from './provider-server.ts';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, close } = await startProviderServer();
  project.provide('providerUrl', url);
  return close;
}

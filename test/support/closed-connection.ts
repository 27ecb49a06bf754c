/// <reference path="../provider-server/provided-context.d.ts" />
import { inject } from 'vitest';
import type { ChatModel } from '@isoloop/core';
import { joined, readerOf } from './model-outcome.ts';

/** Creates a model at the provider server, which sends these headers. */
type Open = (headers: Readonly<Record<string, string>>) => ChatModel;

/** What the reader of a reply got, and whether the server saw that the connection closed. */
interface Closed {
  readonly error?: unknown;
  readonly departed: boolean;
}

/** Aborts a reply that hangs, before its first text (`hang`) or after it (`hang-mid`). */
export async function abortHanging(open: Open, fault = 'hang-mid'): Promise<Closed> {
  const key = crypto.randomUUID();
  const controller = new AbortController();
  const reply = readerOf(open({ 'x-test-key': key }), {}, controller.signal);
  for (let text = ''; fault === 'hang-mid' && !text.includes('Hello');)
    text += joined((await reply.next()).value ?? []).text;
  const error = toEnd(reply).catch((thrown: unknown) => thrown);
  await visit('arrived', key);
  controller.abort('enough');
  return { error: await error, ...(await visit('departed', key)) };
}

/** Stops reading a reply that hangs. */
export async function leaveHanging(open: Open): Promise<Closed> {
  const key = crypto.randomUUID();
  const reply = readerOf(open({ 'x-test-key': key }));
  await reply.next();
  await reply.return?.();
  return visit('departed', key);
}

async function toEnd(reply: AsyncIterator<unknown>): Promise<void> {
  let isDone: boolean | undefined = false;
  while (!isDone) isDone = (await reply.next()).done;
}

async function visit(what: 'arrived' | 'departed', key: string): Promise<Closed> {
  return (await fetch(`${inject('providerUrl')}/${what}/${key}`)).json() as Promise<Closed>;
}

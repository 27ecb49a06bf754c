/// <reference path="../provided-context.d.ts" />
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, inject, onTestFinished, test } from 'vitest';
import { runCommand, type CommandResult } from '../../scripts/run-command.ts';

// The scenarios of @modelcontextprotocol/conformance for clients, for all revisions that it covers.

const quick = ['tools_call', 'auth/scope-step-up'];
const full = [
  'initialize',
  'sse-retry',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/basic-cimd',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/2025-03-26-oauth-endpoint-fallback',
  'auth/resource-mismatch',
  'auth/offline-access-scope',
  'auth/offline-access-not-supported',
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/cross-app-access-complete-flow',
];
/** An older server waits for the answer of its form, so `mcpTools()` does not offer forms to it. */
const withForm = 'elicitation-sep1034-client-defaults';
/** Its metadata names an issuer that RFC 8414 forbids, so the SDK refuses it. */
const refused = 'auth/2025-03-26-oauth-metadata-backcompat';

async function run(scenario: string): Promise<CommandResult> {
  const folder = await mkdtemp(`${tmpdir()}/mcp-conformance-`);
  onTestFinished(() => rm(folder, { recursive: true }));
  const command = 'node test/mcp-conformance/conformance-client.ts';
  const where = ['--command', command, '--output-dir', folder];
  return runCommand('conformance', ['client', '--scenario', scenario, ...where]);
}

test.each(inject('long') ? [...quick, ...full] : quick)(
  'mcpTools() conforms in the scenario %s',
  async (scenario) => {
    const { ok, output } = await run(scenario);
    expect(ok, output).toBe(true);
  },
);

test.each(inject('long') ? [refused] : [])(
  'mcpTools() refuses an authorization server whose metadata names another issuer: %s',
  async (scenario) => {
    const { ok, output } = await run(scenario);
    expect(ok).toBe(false);
    expect(output).toContain('Issuer mismatch in authorization server metadata');
  },
);

test.each(inject('long') ? [withForm] : [])(
  'an older server cannot ask with a form: %s',
  async (scenario) => {
    const { ok } = await run(scenario);
    expect(ok).toBe(false);
  },
);

// Only a new version of the suite changes its list.
test.each(inject('long') ? ['clients'] : [])(
  'the conformance suite has no other scenarios for %s',
  async () => {
    const { output } = await runCommand('conformance', ['list']);
    const [, listed = ''] = output.split('Client scenarios');
    const names = [...listed.matchAll(/^ *- (\S+)/gm)].map(([, name]) => name);
    expect(names.toSorted()).toEqual([...quick, ...full, withForm, refused].toSorted());
  },
);

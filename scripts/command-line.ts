import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.ts';

export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
}

/** The packages of commands that have another name than their package. */
const packages: Readonly<Record<string, string>> = {
  attw: '@arethetypeswrong/cli',
  conformance: '@modelcontextprotocol/conformance',
  tsc: 'typescript',
};

/**
 * Returns how to start a command without a shell. Node itself runs npm and the tools in
 * `node_modules`, because Windows has only `.cmd` files for them, which need a shell. `npm`: path
 * of npm's script. Default: the npm that runs this process.
 */
export function commandLine(
  command: string,
  args: readonly string[],
  npm: string | undefined = process.env['npm_execpath'],
): CommandLine {
  if (command === 'node') return { file: process.execPath, args };
  const script = command === 'npm' ? npm : toolScript(command);
  if (script === undefined) return { file: command, args };
  return { file: process.execPath, args: [script, ...args] };
}

/** Returns the script of a command that an installed package has, or `undefined`. */
function toolScript(command: string): string | undefined {
  const folder = `${root}/node_modules/${packages[command] ?? command}`;
  if (!existsSync(`${folder}/package.json`)) return undefined;
  const { bin } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
    readonly bin?: string | Readonly<Record<string, string>>;
  };
  const script = typeof bin === 'string' ? bin : bin?.[command];
  return script === undefined ? undefined : join(folder, script);
}

import { runCommand } from './run-command.ts';

/**
 * Builds packages of this repository, packs them into a project's folder and installs them there.
 * `more`: further packages, from the registry. The tarballs stay, because the project's
 * `package.json` names them. Throws with the command's output if a step fails.
 */
export async function installPackages(
  project: string,
  names: readonly string[],
  more: readonly string[] = [],
): Promise<void> {
  const folders = names.map((name) => `./packages/${name}`);
  await run('tsc', ['-b', ...folders]);
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', project, ...folders]);
  const tarballs = packed
    .trim()
    .split('\n')
    .map((file) => `./${file}`);
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
  await run('npm', ['install', ...quiet, ...tarballs, ...more], project);
}

async function run(command: string, args: readonly string[], cwd?: string): Promise<string> {
  // npm skips development dependencies if the variable says `production`.
  const env = { NODE_ENV: '' };
  const { ok, output } = await runCommand(
    command,
    args,
    cwd === undefined ? { env } : { cwd, env },
  );
  if (!ok) throw new Error(`${command} ${args.join(' ')} failed:\n${output}`);
  return output;
}

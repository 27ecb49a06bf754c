import { spawn } from 'node:child_process';

/**
 * Starts the mock provider in a separate process, so that the CPU time of a contender does not
 * include it.
 */
export async function startServer(staticFolder) {
  const args = [
    `${import.meta.dirname}/../server.mjs`,
    '0',
    ...(staticFolder ? [staticFolder] : []),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise((resolve, reject) => {
    child.stdout.once('data', (data) => resolve(Number(/\d+/.exec(data)[0])));
    child.once('exit', (code) => reject(new Error(`the mock server ended with ${code}`)));
  });
  return { origin: `http://127.0.0.1:${port}`, close: () => child.kill() };
}

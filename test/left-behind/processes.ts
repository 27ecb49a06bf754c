import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { type Worker } from 'node:worker_threads';
import { captureOrigin } from './origin.ts';
import { forget, isFirstPatch, note } from './things.ts';

interface Spawning extends childProcess.ChildProcess {
  spawn(options: { readonly file: string }): unknown;
}

/** Notes all processes until they exit. */
export function watchProcesses(): void {
  const prototype = childProcess.ChildProcess.prototype as Spawning;
  if (!isFirstPatch(prototype)) return;
  const { spawn } = prototype;
  prototype.spawn = function spawnNoted(options) {
    const result = spawn.call(this, options);
    if (this.pid === undefined) return result;
    const phrase = `a process (${options.file})`;
    note(this, { kind: 'process', phrase, origin: captureOrigin() });
    this.once('exit', () => forget(this));
    return result;
  };
}

/** Notes all threads of Node until they exit. */
export function watchThreads(): void {
  if (!isFirstPatch(workerThreads)) return;
  workerThreads.Worker = new Proxy(workerThreads.Worker, {
    construct(target, values, newTarget) {
      const worker = Reflect.construct(target, values, newTarget) as Worker;
      note(worker, { kind: 'worker', phrase: 'a worker thread', origin: captureOrigin() });
      worker.once('exit', () => forget(worker));
      return worker;
    },
  });
  syncBuiltinESMExports();
}

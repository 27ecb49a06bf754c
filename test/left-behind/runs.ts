import { LiveRun } from '../../packages/core/src/agent/run/live-run.ts';
import { captureOrigin } from './origin.ts';
import { forget, isFirstPatch, note } from './things.ts';

/** Notes all runs that begin. A run that never began has nothing to end. */
export function watchRuns(): void {
  const { prototype } = LiveRun;
  if (!isFirstPatch(prototype)) return;
  const { begin, end } = prototype;
  prototype.begin = function beginNoted(send) {
    note(this, {
      kind: 'run',
      phrase: () => `a run (${this.options.name}, ${this.info.runId}, ${this.halt.stage})`,
      origin: captureOrigin(),
    });
    begin.call(this, send);
  };
  prototype.end = function endNoted() {
    end.call(this);
    forget(this);
  };
}

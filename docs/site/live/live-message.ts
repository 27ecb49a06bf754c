import type { AgentEvent } from '@isoloop/core';
import type { ChosenModel } from './chosen-model.ts';
import type { LiveProgram } from './live-program.ts';

/** From the page to the frame. */
export type FrameRequest =
  | {
      readonly type: 'run';
      readonly id: number;
      readonly program: Omit<LiveProgram, 'name'>;
      readonly model: ChosenModel | undefined;
    }
  | { readonly type: 'stop' };

/** From the worker of an example, through the frame, to the page. */
export type LiveMessage =
  | { readonly type: 'event'; readonly event: AgentEvent }
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'error'; readonly text: string }
  | { readonly type: 'done' };

/** From the frame to the page. */
export type FrameReport =
  | { readonly type: 'ready' }
  | { readonly type: 'report'; readonly id: number; readonly message: LiveMessage };

import type { AgentEvent } from '@isoloop/core';
import type { Connection } from '../../../demo/src/page/test-connection.ts';
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
  | { readonly type: 'stop' }
  /** Asks the reader's server for its models, from the origin of the frame. */
  | { readonly type: 'test'; readonly baseURL: string; readonly apiKey: string };

/** From the worker of an example, through the frame, to the page. */
export type LiveMessage =
  | { readonly type: 'event'; readonly event: AgentEvent }
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'error'; readonly text: string }
  | { readonly type: 'done' };

/** From the frame to the page. */
export type FrameReport =
  | { readonly type: 'ready' }
  | { readonly type: 'tested'; readonly connection: Connection }
  | { readonly type: 'report'; readonly id: number; readonly message: LiveMessage };

import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { AgentEvent, EventOf } from './agent-event.ts';
import { HookDispatcher } from './hook-dispatcher.ts';
import type { Awaitable, Hook, HookControl } from './hook.ts';

type Handler<K extends AgentEvent['type']> = (
  event: EventOf<K>,
  control: HookControl,
) => Awaitable<EventOf<K> | void>;

/** Handlers at the four positions; what one returns replaces the event, as with any hook. */
export interface PositionHook {
  /** Unique among those it is given with. */
  readonly name: string;
  /** Default 0; lower runs first before, and last after. */
  readonly priority?: number;
  readonly onError?: Hook['onError'];
  /** Once a call. A jump takes effect before the first request to the model. */
  readonly beforeAgent?: Handler<'pre-call'>;
  readonly beforeModel?: Handler<'pre-reasoning'>;
  readonly afterModel?: Handler<'post-reasoning'>;
  /**
   * Once a call, also where it ended by a jump; not where it was interrupted, aborted or rejected.
   * It cannot jump.
   */
  readonly afterAgent?: Handler<'post-call'>;
}

type Position = 'beforeAgent' | 'beforeModel' | 'afterModel' | 'afterAgent';

/**
 * Hooks around the agent and around each request to the model, as an onion: before in their order,
 * after in the reverse one (Spring AI Alibaba). Where one asks the loop to go elsewhere (`jumpTo`,
 * `stop`, `gotoReasoning`), those after it at that position don't run; `jumpTo('model')` before the
 * model only skips them. `priority` is where they stand as a whole among the agent's other hooks.
 * Throws `CONFIGURATION` for two of one name.
 */
export function positionHooks(
  hooks: readonly PositionHook[],
  { priority }: Pick<Hook, 'priority'> = {},
): Hook {
  checkFields(
    'CONFIGURATION',
    'positionHooks()',
    { hooks, priority },
    'hooks:array priority:number|?',
  );
  const names = new Set<string>();
  for (const hook of hooks) {
    checkFields(
      'CONFIGURATION',
      'A hook of positionHooks()',
      hook,
      'name:string priority:number|? onError:fail|ignore|? beforeAgent:function|? beforeModel:function|? afterModel:function|? afterAgent:function|?',
    );
    if (names.has(hook.name))
      throw new AgentError('CONFIGURATION', `Two position hooks are named "${hook.name}".`);
    names.add(hook.name);
  }
  const inward = hooks.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0));
  const outward = inward.toReversed();
  const early = new Map<string, (control: HookControl) => void>();
  return {
    name: 'positionHooks',
    ...(priority !== undefined && { priority }),
    on: {
      'pre-call'(event, control) {
        const ask = (jump: (control: HookControl) => void): void =>
          void (early.has(event.runId) || early.set(event.runId, jump));
        return runAt('beforeAgent', inward, event, {
          ...control,
          stop: () => ask(({ stop }) => stop()),
          gotoReasoning: (messages) => ask(({ gotoReasoning }) => gotoReasoning(messages)),
          jumpTo: (...to) => ask(({ jumpTo }) => jumpTo(...to)),
        });
      },
      'pre-reasoning'(event, control) {
        const jump = early.get(event.runId);
        early.delete(event.runId);
        const jumpTo: HookControl['jumpTo'] = (to, messages, reason) => {
          if (to !== 'model' || messages !== undefined) control.jumpTo(to, messages, reason);
        };
        return jump
          ? jump({ ...control, jumpTo })
          : runAt('beforeModel', inward, event, { ...control, jumpTo });
      },
      'post-reasoning': (event, control) => runAt('afterModel', outward, event, control),
      'post-call': (event, control) => runAt('afterAgent', outward, event, control),
      'run-end': ({ runId }) => void early.delete(runId),
    },
  };
}

async function runAt<E extends AgentEvent>(
  position: Position,
  hooks: readonly PositionHook[],
  event: E,
  control: HookControl,
): Promise<E> {
  let left = false;
  const leave = (): void => void (left = position !== 'afterAgent');
  const leaving: HookControl = {
    ...control,
    stop() {
      leave();
      control.stop();
    },
    gotoReasoning(messages) {
      leave();
      control.gotoReasoning(messages);
    },
    jumpTo(...jump) {
      leave();
      control.jumpTo(...jump);
    },
  };
  const here = hooks.flatMap(({ name, onError, [position]: handler }): Hook[] => {
    if (!handler) return [];
    const run = (given: AgentEvent) =>
      left ? undefined : (handler as unknown as NonNullable<Hook['onEvent']>)(given, leaving);
    return [{ name, ...(onError && { onError }), on: { [event.type]: run } }];
  });
  return new HookDispatcher(here).modify(event, leaving);
}

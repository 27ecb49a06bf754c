import { AgentError, misconfigured } from '../error/agent-error.ts';
import type { EventType } from './agent-event.ts';
import type { EventControls, HookControl } from './hook.ts';

/**
 * What hooks can ask for at an event. `isOver`: whether to skip the remaining handlers. `hook`: name
 * of the hook that uses a control.
 */
export type HandlerControls = Partial<HookControl> & { isOver?: boolean; hook?: string };

/** One handler of a hook while it handles an event. */
interface Handling {
  /** Name of the hook, for errors. */
  readonly hook: string;
  hasEnded: boolean;
}

/** Any control. */
type Use = (...args: never[]) => void;

const names: readonly (keyof HookControl)[] = ['stop', 'jumpTo', 'gotoReasoning', 'reject'];

/** The controls of each event, as `EventControls` has them. Other events have none. */
const controlsOf: Readonly<Record<string, string>> = {
  'run-start': 'reject',
  'pre-call': 'stop jumpTo reject',
  'pre-reasoning': 'stop jumpTo gotoReasoning',
  'post-reasoning': 'stop jumpTo gotoReasoning',
  'pre-acting': 'stop reject',
  'post-acting': 'stop jumpTo gotoReasoning',
  'pre-summary': 'stop',
} satisfies Record<keyof EventControls, string>;

/**
 * Returns the controls that a hook handler gets for one event. A control throws if the event does
 * not offer it, or if the handler has ended.
 */
export function controlsAt(
  type: EventType,
  control: HandlerControls,
  handling: Handling,
): HookControl {
  const { hook } = handling;
  const guardedControls = names.map((name) => [
    name,
    (...args: never[]) => {
      const use: Use | undefined = control[name];
      const isOffered = use && controlsOf[type]?.includes(name);
      if (isOffered && !handling.hasEnded) {
        // A hook of `positionHooks()` has put its own name here.
        control.hook = handlerControls.hook ?? hook;
        return use(...args);
      }
      const problem = isOffered
        ? `\`${name}\` was called after the hook at ${type} had ended.`
        : `There is no control \`${name}\` at ${type}.`;
      const details = { hook, control: name, event: type };
      throw misconfigured(`Hook "${hook}": ${problem}`, { details });
    },
  ]);
  const handlerControls: HandlerControls = Object.fromEntries(guardedControls);
  return handlerControls as HookControl;
}

/** Returns whether a hook used a control wrongly. */
export function isMisuse(error: unknown): boolean {
  return AgentError.is(error) && error.details?.['control'] !== undefined;
}

/** Returns the same controls, but the use of one also skips the remaining handlers of the event. */
export function skippingControls(control: HandlerControls): HandlerControls {
  const controls: HandlerControls = {};
  for (const name of names) {
    const use: Use | undefined = control[name];
    controls[name] = (...args: never[]) => {
      controls.isOver = true;
      if (controls.hook !== undefined) control.hook = controls.hook;
      use?.(...args);
    };
  }
  return controls;
}

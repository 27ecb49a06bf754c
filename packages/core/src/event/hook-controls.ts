import { AgentError, misconfigured } from '../error/agent-error.ts';
import { freeze } from '../message/freeze.ts';
import type { AgentEvent } from './agent-event.ts';
import type { EventControls, HookControls } from './hook.ts';

/** Name of a control. */
type ControlName = keyof HookControls;

/** The call of a control by a hook. That of `gotoReasoning` is a `jumpTo`. */
export type ControlCall = {
  readonly [N in Exclude<ControlName, 'gotoReasoning'>]: {
    readonly name: N;
    readonly args: Parameters<HookControls[N]>;
    /** Name of the hook, for errors. */
    readonly hook: string;
  };
}[Exclude<ControlName, 'gotoReasoning'>];

/** Does what a hook asks for. Returns whether the later hooks do not get the event. */
export type OnControl = (call: ControlCall) => boolean | void;

/** One handler of a hook while it handles an event. */
interface Handling {
  /** Name of the hook, for errors. */
  readonly hook: string;
  hasEnded: boolean;
}

/** The controls of each event, as `EventControls` has them. Other events have none. */
const controlsOf: Readonly<Record<string, readonly string[]>> = {
  'run-start': ['reject'],
  'pre-call': ['stop', 'jumpTo', 'reject'],
  'pre-reasoning': ['stop', 'jumpTo', 'gotoReasoning'],
  'post-reasoning': ['stop', 'jumpTo', 'gotoReasoning'],
  'pre-acting': ['stop', 'reject'],
  'post-acting': ['stop', 'jumpTo', 'gotoReasoning'],
  'pre-summary': ['stop'],
} satisfies { readonly [K in keyof EventControls]: readonly EventControls[K][] };

const names: readonly ControlName[] = ['stop', 'jumpTo', 'gotoReasoning', 'reject'];

/** Key of what the controls of an event do, for hooks that pass the event to other hooks. */
const onControlKey = Symbol('onControl');

/**
 * Returns the frozen event that a handler gets: a copy with all controls as methods. A control
 * throws if the event does not offer it, or if the handler has ended. A text or argument delta gets
 * no methods, because there are thousands of them. The methods are not enumerable, so that no copy
 * and no message to another context has them. `onControl`: without it, the event offers nothing.
 */
export function withControls<E extends AgentEvent>(
  event: E,
  handling: Handling,
  onControl?: OnControl,
): E {
  freeze(event);
  if ('delta' in event) return event;
  const { type }: AgentEvent = event;
  const { hook } = handling;
  const pass = (name: ControlName, call: ControlCall): boolean | void => {
    const isOffered = onControl && controlsOf[type]?.includes(name);
    if (isOffered && !handling.hasEnded) return onControl(call);
    const problem = isOffered
      ? `\`${name}\` was called after the hook at ${type} had ended.`
      : `There is no control \`${name}\` at ${type}.`;
    throw misconfigured(`Hook "${hook}": ${problem}`, {
      details: { hook, control: name, event: type },
    });
  };
  const handlersEvent = Object.defineProperty({ ...event }, onControlKey, {
    value: (call: ControlCall) => pass(call.name, call),
  });
  for (const name of names) {
    const value = (...args: readonly unknown[]): void =>
      void pass(name, controlCall(name, args, hook));
    Object.defineProperty(handlersEvent, name, { value });
  }
  return Object.freeze(handlersEvent);
}

function controlCall(name: ControlName, args: readonly unknown[], hook: string): ControlCall {
  const call =
    name === 'gotoReasoning' ? { name: 'jumpTo', args: ['model', ...args] } : { name, args };
  return { ...call, hook } as ControlCall;
}

/** Returns what the controls of a handler's event do, or `undefined` for an event without them. */
export function onControlOf(event: AgentEvent): OnControl | undefined {
  return (event as { readonly [onControlKey]?: OnControl })[onControlKey];
}

/** Returns the event without controls: a copy if it has some. */
export function withoutControls<E extends AgentEvent>(event: E): E {
  return onControlOf(event) ? { ...event } : event;
}

/** Returns whether a hook used a control wrongly. */
export function isMisuse(error: unknown): boolean {
  return AgentError.is(error) && error.details?.['control'] !== undefined;
}

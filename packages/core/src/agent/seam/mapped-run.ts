import { misconfigured } from '../../error/agent-error.ts';
import type { LiveRun } from '../run/live-run.ts';
import { RunObject } from './run-object.ts';
import type { RunView } from './run-view.ts';
import type { Run } from './run.ts';

/** The groups of `run`. */
type Group = Extract<keyof Run, 'log' | 'events' | 'wait' | 'inbox' | ViewGroup>;
type ViewGroup = 'prompt' | 'tools' | 'model' | 'calls' | 'ending';

/** The members of each group that change nothing. */
type ViewMembers = {
  readonly [G in Group]: G extends ViewGroup ? { readonly [M in keyof RunView[G]]: true } : object;
};

const viewMembers: ViewMembers = {
  log: {},
  prompt: { text: true, base: true, messages: true },
  tools: { current: true, schemas: true, added: true, context: true },
  model: { provider: true, modelId: true, features: true },
  calls: { open: true },
  events: {},
  ending: { stopped: true },
  wait: {},
  inbox: {},
};

/**
 * The `run` that `mapEvent` gets. By its type, it is a `RunView`. Code without types that uses a
 * member which changes the run gets `CONFIGURATION`.
 */
export class MappedRun extends RunObject {
  constructor(live: LiveRun) {
    super(live);
    for (const [name, members] of Object.entries(viewMembers)) {
      const value = viewOf(this[name as Group], members);
      Object.defineProperty(this, name, { value, enumerable: true });
    }
  }
}

/** Returns a group with its members that change nothing. The others throw `CONFIGURATION`. */
function viewOf(group: object, members: object): object {
  const view = {};
  for (const key of Object.keys(group)) {
    const get = (): unknown => {
      if (!Object.hasOwn(members, key)) throw misconfigured('mapEvent() must not change the run.');
      return group[key as keyof typeof group];
    };
    Object.defineProperty(view, key, { get, enumerable: true });
  }
  return view;
}

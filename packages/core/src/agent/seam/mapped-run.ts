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
    for (const name of Object.keys(viewMembers) as Group[]) {
      const get = (): object => viewOf(live.run[name], viewMembers[name]);
      Object.defineProperty(this, name, { get });
    }
  }
}

/** Returns a group with its members that change nothing. The others throw `CONFIGURATION`. */
function viewOf(group: object, members: object): object {
  return new Proxy(group, {
    get(_target, key) {
      const isChange = key in group && !Object.hasOwn(members, key);
      if (isChange) throw misconfigured('mapEvent() must not change the run.');
      return Reflect.get(group, key) as unknown;
    },
    // For copies, such as `{ ...run.prompt }`.
    ownKeys: () => Object.keys(members),
  });
}

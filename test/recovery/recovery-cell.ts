/** What the user did when the failure came. */
export type RecoveryAction =
  | 'send'
  | 'edit a message'
  | 'regenerate'
  | 'approve'
  | 'edit an approval'
  | 'deny'
  | 'inject'
  | 'page tool'
  | 'call without input';

export type RecoveryFailure =
  | 'reload'
  | 'closed tab'
  | 'killed worker'
  | 'second tab takes over'
  | 'isolate dies';

export type RecoveryStore = 'IndexedDB' | 'KV' | 'Durable Object';

/** Why a failure or an action does not exist with a store. */
export interface Impossible {
  readonly impossible: string;
}

/** What the conversation has of an action after a failure. */
export interface KeptAction {
  readonly kept: string;
  /** The same after the isolate died, if it differs. */
  readonly afterDeath?: string;
}

/** The promises of one store, in whole sentences. */
export interface StoreRecovery<S extends RecoveryStore = RecoveryStore> {
  readonly store: S;
  readonly failures: Readonly<Record<RecoveryFailure, string | Impossible>>;
  readonly actions: Readonly<Record<RecoveryAction, KeptAction | Impossible>>;
}

/** One cell of the recovery matrix: an action, a failure and the store of the conversation. */
export interface RecoveryCell<S extends RecoveryStore = RecoveryStore> {
  readonly action: RecoveryAction;
  readonly failure: RecoveryFailure;
  readonly store: S;
  /** Whether this failure can come during this action. A test then drives the cell. */
  readonly isPossible: boolean;
}

/** Returns the cells of a store: each action with each failure. */
export function cellsOf<S extends RecoveryStore>({
  store,
  failures,
  actions,
}: StoreRecovery<S>): readonly RecoveryCell<S>[] {
  const allActions = Object.keys(actions) as readonly RecoveryAction[];
  const allFailures = Object.keys(failures) as readonly RecoveryFailure[];
  return allActions.flatMap((action) =>
    allFailures.map((failure) => ({
      action,
      failure,
      store,
      isPossible: typeof failures[failure] === 'string' && !('impossible' in actions[action]),
    })),
  );
}

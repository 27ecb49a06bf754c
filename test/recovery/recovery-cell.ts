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

/** One cell of the recovery matrix: an action, a failure and the store of the conversation. */
export interface RecoveryCell {
  readonly action: RecoveryAction;
  readonly failure: RecoveryFailure;
  readonly store: RecoveryStore;
  /** What the user is promised, or why the failure cannot happen with this store. */
  readonly outcome:
    | { readonly kind: 'promise'; readonly text: string }
    | { readonly kind: 'impossible'; readonly reason: string };
}

import type { Endpoint } from '../../../demo/src/endpoint-model.ts';

/** The model that a reader has chosen in place of the scripted one of an example. */
export type ChosenModel = ({ readonly kind: 'endpoint' } & Endpoint) | { readonly kind: 'browser' };

/** The chosen model in the worker of an example. `port` leads to the browser's model. */
export type LiveModel =
  | Extract<ChosenModel, { readonly kind: 'endpoint' }>
  | { readonly kind: 'browser'; readonly port: MessagePort };

declare global {
  /** The model that the reader has chosen, in the worker of an example. */
  var liveModel: LiveModel | undefined;
}

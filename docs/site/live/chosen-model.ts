/** A model server of the reader, which replaces the scripted model of an example. */
export interface ChosenModel {
  /** Base of an OpenAI-compatible server, such as `http://127.0.0.1:11434/v1`. */
  readonly baseURL: string;
  /** Name of the model. */
  readonly model: string;
}

declare global {
  /** The model that the reader has chosen, in the worker of an example. */
  var liveModel: ChosenModel | undefined;
}

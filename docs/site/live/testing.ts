import type { ChatModel } from '@isoloop/core';
import { ScriptedModel as PlainModel } from '@isoloop/core/testing';
import { endpointModel } from '../../../demo/src/endpoint-model.ts';
import type { LiveModel } from './chosen-model.ts';
import { modelAt } from './model-port.ts';

export * from '@isoloop/core/testing';

/** The scripted model of the live examples. If the reader has chosen a model, it asks that one. */
export class ScriptedModel extends PlainModel {
  readonly #chosen: ChatModel | undefined = globalThis.liveModel && modelOf(globalThis.liveModel);

  override stream(...given: Parameters<PlainModel['stream']>): ReturnType<PlainModel['stream']> {
    const [request, context] = given;
    if (!this.#chosen) return super.stream(...given);
    this.requests.push(request);
    return asGenerator(this.#chosen.stream(request, context));
  }

  override assertDone(): void {
    if (!this.#chosen) super.assertDone();
  }
}

function modelOf(chosen: LiveModel): ChatModel {
  return chosen.kind === 'browser' ? modelAt(chosen.port) : endpointModel(chosen);
}

async function* asGenerator<T>(values: AsyncIterable<T>): AsyncGenerator<T> {
  yield* values;
}

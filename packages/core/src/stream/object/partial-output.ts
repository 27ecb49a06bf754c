import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { func } from '../../error/options/kinds.ts';
import type { EventBatch } from '../../event/agent-event.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import { readSchema, type InferOutput, type SchemaLike } from '../../schema/schema.ts';
import { ObjectReader } from './object-reader.ts';

/**
 * A value while it arrives: fields may be missing, texts and lists may be incomplete. What has
 * arrived is not validated yet.
 */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]?: DeepPartial<T[Name]> }
    : T;

/** An `AgentStream`, or the stream of a worker's agent. */
export interface OutputSource<T> {
  batches(): AsyncIterable<EventBatch>;
  /** Carries only the type of the output. */
  readonly result?: Promise<AgentResult<T>>;
}

/**
 * Reads a run with an output mode such as `structured(schema)`, and yields the object while it
 * arrives. It does not matter whether the model writes the object as text or as the arguments of a
 * tool.
 *
 * - Each batch of events yields at most one object. Finished parts stay the same objects.
 * - Texts grow. Numbers, booleans and `null` appear when they are complete.
 * - If the model has to correct its answer (`step-reset`), yields `undefined`, and then the new
 *   object.
 * - The last object is the validated `output` of the result. If the run ends without an output, for
 *   example because it was stopped, the last object is the incomplete one.
 *
 * Each character is read once. A long list that is still open is yielded less often, so that the
 * cost grows with the length of the reply only. Rejects if the run fails. YAML and bare numbers or
 * words appear only as the last object.
 *
 * @example
 * const stream = agent.stream('Plan a trip.', { output: structured(Trip) });
 * for await (const trip of partialOutput(stream)) show(trip);
 */
export async function* partialOutput<T>(
  stream: OutputSource<T>,
): AsyncGenerator<DeepPartial<T> | undefined, T | undefined> {
  let output: T | undefined;
  for await (const { reader, result } of readings(stream)) {
    output = result?.output;
    if (output !== undefined) yield output as DeepPartial<T>;
    else if (reader.update(!!result)) yield reader.value as DeepPartial<T> | undefined;
  }
  return output;
}

/** Item of a list. */
export type ItemOf<T> = T extends readonly (infer Item)[] ? Item : never;

/**
 * Reads a run whose output is a list, and yields each item when it is complete. With the schema of
 * an item, the items are validated, and an item that does not fit waits for the end of the run.
 * Without it, an item is as the model wrote it, unless it arrives with the end of the run.
 *
 * An item that was yielded cannot be taken back. If the model corrects its answer, only items
 * beyond their number are yielded. Use `partialOutput()` where a correction must be visible.
 * Rejects if the run fails.
 *
 * @example
 * const stream = agent.stream('Name ten cities.', { output: structured(z.array(City)) });
 * for await (const city of outputItems(stream, City)) add(city);
 */
export function outputItems<T>(stream: OutputSource<T>): AsyncGenerator<ItemOf<T>, void>;
export function outputItems<const S extends SchemaLike>(
  stream: OutputSource<readonly InferOutput<S>[]>,
  itemSchema: S,
): AsyncGenerator<InferOutput<S>, void>;
export async function* outputItems(
  stream: OutputSource<unknown>,
  itemSchema?: SchemaLike,
): AsyncGenerator<unknown, void> {
  const schema = itemSchema && readSchema('outputItems()', itemSchema);
  let count = 0;
  for await (const { reader, result } of readings(stream)) {
    reader.update(!!result);
    const { output = reader.value } = result ?? {};
    const list = Array.isArray(output) ? output : [];
    const isWhole = output === result?.output || reader.isComplete;
    const newItems = list.slice(count, isWhole ? list.length : -1);
    for (const each of newItems) {
      let item: unknown = each;
      if (schema && output !== result?.output) {
        const validation = await schema.validate(each);
        if (!validation.ok) break;
        item = validation.value;
      }
      count += 1;
      yield item;
    }
  }
}

interface Read<T> {
  readonly reader: ObjectReader;
  /** Set in the last batch of the run. */
  readonly result: AgentResult<T> | undefined;
}

/** Yields after each batch. Rejects if the run fails, also with `throwOnError: false`. */
async function* readings<T>(stream: OutputSource<T>): AsyncGenerator<Read<T>, void> {
  checkFields('partialOutput()', stream, { batches: func }, 'INVALID_INPUT');
  const reader = new ObjectReader();
  for await (const batch of stream.batches()) {
    let result: AgentResult<T> | undefined;
    for (const event of batch) {
      // The output of an agent that runs as a tool is for the calling agent, not for the reader.
      if (event.agentPath.length > 1) continue;
      if (event.type === 'error') throw AgentError.fromJSON(event.error);
      if (event.type === 'run-end') result = event.result as AgentResult<T>;
      reader.source.take(event);
    }
    yield { reader, result };
  }
}

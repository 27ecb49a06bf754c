import { readdir, readFile } from 'node:fs/promises';
import { done, openEventStream, write } from './event-stream.ts';
import { sendError, type Exchange } from './exchange.ts';

const folder = new URL('../fixtures/provider-streams/', import.meta.url);

/**
 * Serves `/replay/NAME/v1` with a recorded stream, as its provider sent it. NAME is the name of the
 * file without extensions.
 */
export async function replay({ response, parameters: [name = ''] }: Exchange): Promise<void> {
  const stream = await recordedStream(name);
  if (!stream)
    return sendError(response, 404, {
      message: `No recorded stream '${name}'. There are: ${(await recordedNames()).join(', ')}`,
    });
  openEventStream(response);
  await write(response, stream);
  response.end();
}

export async function recordedNames(): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => /\.(chunks\.txt|sse)$/.test(file))
    .map((file) => file.replace(/\.(chunks\.txt|sse)$/, ''));
}

async function recordedStream(name: string): Promise<Uint8Array | undefined> {
  if (!(await recordedNames()).includes(name)) return undefined;
  const chunks = await readFile(new URL(`${name}.chunks.txt`, folder), 'utf8').catch(
    () => undefined,
  );
  return chunks === undefined
    ? readFile(new URL(`${name}.sse`, folder))
    : Buffer.from(toEventStream(chunks));
}

function toEventStream(chunks: string): string {
  const lines = chunks.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => `data: ${line}\n\n`).join('') + done;
}

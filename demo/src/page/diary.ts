import { assistantMessage, SessionMemory, userMessage, type Msg } from '@isoloop/core';
import { IndexedDbStore } from '@isoloop/web-worker';
import { cities } from '../tools/cities.ts';
import { conversations } from './places.ts';
import type { Home } from './settings.ts';

const days = 80;

/** Stores a conversation that is too long for the offline model, and returns its id. */
export async function storeDiary(home: Home): Promise<string> {
  const sessionId = crypto.randomUUID();
  const memory = new SessionMemory(new IndexedDbStore(), sessionId);
  await memory.append(Array.from({ length: days }, (_, index) => dayOf(index + 1)).flat());
  await memory.rename(`A diary of ${days} days`);
  if (home === 'edge') await conversations.moveTo(sessionId, 'edge');
  return sessionId;
}

function dayOf(day: number): readonly Msg[] {
  const city = cities[day % cities.length]!.names[0];
  const answer =
    `Day ${day} is in your diary. You woke up in ${city}, had coffee at the corner, and walked to the ` +
    `market before it became warm. You bought ${day} oranges, which nobody could carry, and gave ` +
    'most of them to the people at the next table. In the afternoon it rained, so you read under the ' +
    'roof of the old station and wrote three postcards. In the evening you found a small place with ' +
    'five chairs, where the owner sang. You want to remember the soup, the blue door, and the sound ' +
    'of the rain. Tomorrow you travel on.';
  return [userMessage(`Write down day ${day}.`), assistantMessage(answer)];
}

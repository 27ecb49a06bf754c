// Measures wall time in a page of Chromium, with the session in IndexedDB.
import { IndexedDbMemory } from '@isoloop/web-worker/store';
import { measureSteps, measureTurns } from './work.mjs';

const clock = () => performance.now();

globalThis.growth = async (count) => {
  const memory = new IndexedDbMemory('turns');
  const open = () => new IndexedDbMemory('turns').read();
  const steps = await measureSteps({ memory: new IndexedDbMemory('steps'), count, clock });
  return { steps, ...(await measureTurns({ memory, count, clock, open })) };
};

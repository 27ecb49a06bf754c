// `node node.mjs COUNT`: measures CPU time in Node and sends the lines of the plot to the parent.
import { InMemoryMemory, MemoryStore, SessionMemory } from '@isoloop/core';
import { measureSteps, measureTurns } from './work.mjs';

const count = Number(process.argv[2]);
const clock = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const store = new MemoryStore();
const open = () => new SessionMemory(store, 's').read();
const inMemory = 'Node, in memory';
const log = 'Node, session log';
const logged = () => new SessionMemory(new MemoryStore(), 's');
// The first run of each kind warms up the engine.
for (const memory of [new InMemoryMemory(), logged()]) {
  await measureSteps({ memory, count: 300, clock });
  await measureTurns({ memory, count: 300, clock });
}
const steps = {
  [inMemory]: await measureSteps({ memory: new InMemoryMemory(), count, clock }),
  [log]: await measureSteps({ memory: logged(), count, clock }),
};
const plain = await measureTurns({ memory: new InMemoryMemory(), count, clock });
const kept = await measureTurns({ memory: new SessionMemory(store, 's'), count, clock, open });
process.send({
  steps,
  turns: { [inMemory]: plain.turns, [log]: kept.turns },
  openings: { [log]: kept.openings },
});

import { memoryConformance } from '../testing/memory-conformance.ts';
import { MemoryStore } from './memory-store.ts';
import { SessionMemory } from './session-memory.ts';

for (const durability of ['step', 'turn'] as const) {
  const store = new MemoryStore();
  memoryConformance(`SessionMemory (${durability})`, (sessionId) => new SessionMemory(store, sessionId, { durability }), {
    persistent: true,
  });
}

import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { exposeAgent } from '@isoloop/web-worker/worker';

// Messages that arrive before this await ends are lost.
await new Promise((resolve) => setTimeout(resolve, 20));
exposeAgent(() => new ReActAgent({ name: 'late', model: new ScriptedModel(['better late']) }));

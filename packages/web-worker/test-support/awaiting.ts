import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { exposeAgent } from '@isoloop/web-worker/worker';

// The first message of the page is lost, because the agent is exposed after it.
await new Promise((resolve) => addEventListener('message', resolve, { once: true }));
exposeAgent(() => new ReActAgent({ name: 'late', model: new ScriptedModel(['better late']) }));

import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { exposeAgent } from '@isoloop/web-worker/worker';

// What was posted to the worker before this is over is lost.
await new Promise((resolve) => setTimeout(resolve, 20));
exposeAgent(() => new ReActAgent({ name: 'late', model: new ScriptedModel(['better late']) }));

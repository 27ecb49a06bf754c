import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { exposeAgent } from '@isoloop/web-worker/worker';

const factory = (): ReActAgent => new ReActAgent({ name: 'a', model: new ScriptedModel(['ok']) });
exposeAgent(factory);
exposeAgent(factory);

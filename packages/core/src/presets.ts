export { agentscope } from './preset/agentscope.ts';
export { arcReactor } from './preset/arc-reactor.ts';
export { springAiAlibaba, type SpringAiAlibabaOptions } from './preset/spring-ai-alibaba.ts';
export { oxygent, type OxygentOptions } from './preset/oxygent.ts';

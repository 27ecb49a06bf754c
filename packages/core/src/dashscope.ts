export { dashscope, type DashScopeOptions } from './model/dashscope/dashscope.ts';
export type { DashScopeEndpoint } from './model/dashscope/dashscope-formatter.ts';

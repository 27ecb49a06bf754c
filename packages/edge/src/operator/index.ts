export { operatorDesk } from './operator-desk.ts';
export type { Operator, OperatorDeskOptions } from './operator-desk.ts';

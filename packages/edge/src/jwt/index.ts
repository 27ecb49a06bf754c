export { jwt } from './jwt.ts';
export type { JwtOptions } from './jwt.ts';

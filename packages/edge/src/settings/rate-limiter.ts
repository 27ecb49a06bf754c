/** Rate limit binding. Cloudflare counts the requests of each location separately. */
export interface RateLimiter {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

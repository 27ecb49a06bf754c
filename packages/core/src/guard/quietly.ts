/** A listener whose trouble is nobody's. */
export function quietly<T>(listen: ((told: T) => void) | undefined): (told: T) => void {
  return (told) => {
    try {
      listen?.(told);
    } catch {
      // Nobody is left to tell.
    }
  };
}

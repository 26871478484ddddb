/** Returns undefined if `work` meets a file or folder that does not exist, such as one that was removed after it was listed. */
export function unlessGone<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    return undefined
  }
}

/** The disk does not take a change (it is full, or it fails): nothing of it was done, and what is there is whole. */
export class StoreUnwritable extends Error {
  override readonly name: string = 'StoreUnwritable'
}

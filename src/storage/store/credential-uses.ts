/** The minutes in which credentials were last used, on all nodes. A minute is a number of minutes since 1970. */
export interface CredentialUseStore {
  /** Stores the minute of each credential, unless it has a later one. Throws `StoreUnwritable`. */
  store(minutes: ReadonlyMap<string, number>): Promise<void>
  /** Throws `StoreUnwritable`. */
  remove(credentials: readonly string[]): Promise<void>
  /** Returns the minutes of those that were used. */
  read(credentials: readonly string[]): Promise<ReadonlyMap<string, number>>
}

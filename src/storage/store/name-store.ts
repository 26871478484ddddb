/** Port to the names that usage, the request log and risk events store beside the ids of consumers. */
export interface NameStore {
  /** Replaces the name of a consumer in all stored rows. Returns the number of rows that had another name. */
  replaceConsumerName(tenant: string, consumer: string, name: string): Promise<number>
}

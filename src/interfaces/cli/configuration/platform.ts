/** The platform API as the configuration uses it. */

export interface Answer {
  readonly body: Readonly<Record<string, unknown>>
  /** Entity tag; empty if the answer has none. */
  readonly tag: string
}

export interface Platform {
  get(path: string): Promise<Answer>
  /** All pages of a list. */
  list(path: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  text(path: string): Promise<string>
  /** Throws `Refused` if the service refuses; `ifMatch` makes it refuse a resource that has changed. */
  send(method: string, path: string, body?: unknown, ifMatch?: string): Promise<Answer>
}

/** A refusal of the service; its message is made for people. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }

  /** Whether the resource has changed since it was read. */
  get isConflict(): boolean {
    return this.status === 412
  }
}

/** Exit codes of `diff(1)`, and the error that ends a command with one of them. */

/** Differences, a refusal of the service, or a result that is not good enough. */
export const EXIT_NEGATIVE = 1
/** Wrong use, a service that cannot be reached, or an input that cannot be read. */
export const EXIT_TROUBLE = 2

/** Ends the command; its message is one or more sentences for a person. */
export class CommandFailed extends Error {
  readonly exitCode: typeof EXIT_NEGATIVE | typeof EXIT_TROUBLE

  constructor(message: string, exitCode: typeof EXIT_NEGATIVE | typeof EXIT_TROUBLE = EXIT_TROUBLE) {
    super(message)
    this.exitCode = exitCode
  }
}

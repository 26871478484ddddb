/** The service must not start: the message is for the operator, a line a reason, and says what to do. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}

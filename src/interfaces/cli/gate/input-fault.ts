/** An input or option that cannot be used; the message is one sentence for the user. The command ends with exit code 2. */
export class InputFault extends Error {
  override readonly name = 'InputFault'
  readonly file: string

  constructor(file: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.file = file
  }
}

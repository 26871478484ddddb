/** Removes secrets from lines of the log that errors of Node and of libraries put there. */

const NAMED = ['authorization', 'cookie', 'client_secret', 'clientSecret', 'apiKey', 'password', 'secret']
/** `new URL` repeats the text that it cannot parse, and ioredis the command that failed, such as AUTH with its password. */
const OF_ERRORS = ['input', 'command']
const CENSOR = '[secret]'

/** The members of a line that are replaced. */
export const REDACTED = {
  paths: [
    ...NAMED.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]),
    ...OF_ERRORS.flatMap((name) => [`err.${name}`, `err.aggregateErrors[*].${name}`]),
  ],
  censor: CENSOR,
}

/** User and password of a URL, within a text of JSON. */
const CREDENTIALS = /:\/\/(?:[^\s/?#@"\\]|\\.)+@/g
const PARAMETERS = /([?&](?:password|secret|token|key|api[-_]?key|access_token|client_secret)=)(?:[^&#\s"\\]|\\.)+/gi

/** Returns a line of JSON without the credentials of the URLs in its texts. */
export function withoutUrlSecrets(line: string): string {
  return line.replace(CREDENTIALS, `://${CENSOR}@`).replace(PARAMETERS, `$1${CENSOR}`)
}

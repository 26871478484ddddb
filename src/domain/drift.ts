/** One thing that the published contract of an API does not know, as it was seen at the gateway. */

export interface Drift {
  readonly tenant: string
  readonly api: string
  /** `''` where no operation is declared. */
  readonly operation: string
  readonly kind: 'undeclared_operation' | 'undeclared_status' | 'undeclared_media_type' | 'undeclared_body'
  /** Of the answer; 404 or 405 for an operation. */
  readonly status: number
  /** What it was: method and path, a media type, a place in a body and what is wrong there. Never a value. */
  readonly detail: string
  readonly requestId: string
}

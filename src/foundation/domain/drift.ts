/** One difference between a call and the document of the revision that served it, as the gateway observed it. */

export interface Drift {
  readonly tenant: string
  readonly api: string
  /** Set if the revision is a canary, whose document is not the published one yet. */
  readonly revision?: number
  /** `''` if no operation is declared. */
  readonly operation: string
  readonly kind: 'undeclared_operation' | 'undeclared_status' | 'undeclared_media_type' | 'undeclared_body'
  /** Status of the response; 404 or 405 for an undeclared operation. */
  readonly status: number
  /** Method and path, a media type, or a position in a body with its error. Never a value. */
  readonly detail: string
  readonly requestId: string
}

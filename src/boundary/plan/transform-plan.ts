/** Changes of the headers and the paths of an API's calls. Names are compared without case, and an underscore is a dash. */

export interface HeaderField {
  readonly name: string
  readonly value: string
}

/** Applied in this order. */
export interface HeaderTransform {
  readonly remove?: readonly string[]
  /** Replaces all headers of the name. */
  readonly set?: readonly HeaderField[]
  readonly add?: readonly HeaderField[]
}

/** The prefix `from` of the document's paths becomes `to` at the backend. */
export interface BasePathTransform {
  readonly from: string
  readonly to: string
}

export interface TransformPlan {
  readonly request?: HeaderTransform
  readonly response?: HeaderTransform
  readonly basePath?: BasePathTransform
}

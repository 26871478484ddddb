/**
 * Types of the values that a JSON schema accepts, so that a handler needs no cast after validation.
 *
 * The schemas stay plain JSON, which `/openapi.json` contains unchanged; a schema library would bring its own validator or builders.
 * The types cover the keywords that the platform's request schemas use: `const`, `enum`, `type`, `items`, `properties`, `required`,
 * `default` and `additionalProperties`. Other keywords narrow values, not types. A schema whose `type` is only known as `string`
 * (declared without `as const`) accepts `unknown`, which no handler can pass on by mistake.
 */

import type { EncodedText } from '../../foundation/domain/encoded-text.ts'

/** A JSON schema of any shape. */
export type Schema = Readonly<Record<string, unknown>>

/** The schema that `object()` makes: closed, with these members, of which `Required` lists the mandatory ones. */
export type ObjectSchema<Properties, Required extends readonly PropertyKey[]> = {
  readonly type: 'object'
  readonly additionalProperties: false
  readonly required: Required
  readonly properties: Properties
}

/** A schema that accepts null as well. */
export type NullableSchema<Of> = Omit<Of, 'type'> & {
  readonly type: readonly [Of extends { readonly type: infer Type } ? Type : never, 'null']
}

/** The values that a schema accepts, once the validator has filled in defaults. */
export type FromSchema<Of> = Of extends { readonly const: infer Value }
  ? Value
  : Of extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Of extends { readonly type: readonly (infer Type)[] }
      ? FromType<Type, Of>
      : Of extends { readonly type: infer Type }
        ? FromType<Type, Of>
        : unknown

/** Distributes over the members of `Type`. */
type FromType<Type, Of> = Type extends 'string'
  ? Of extends { readonly contentEncoding: 'base64' }
    ? EncodedText
    : string
  : Type extends 'number' | 'integer'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? FromItems<Of>
          : Type extends 'object'
            ? FromMembers<Of>
            : unknown

type FromItems<Of> = Of extends { readonly items: infer Items } ? readonly FromSchema<Items>[] : readonly unknown[]

type FromMembers<Of> = Of extends { readonly properties: infer Properties }
  ? Flat<
      { readonly [Name in Present<Of, Properties>]: FromSchema<Properties[Name]> } & {
        readonly [Name in Exclude<keyof Properties, Present<Of, Properties>>]?: FromSchema<Properties[Name]>
      }
    >
  : Of extends { readonly additionalProperties: false }
    ? Readonly<Record<string, never>>
    : Of extends { readonly additionalProperties: infer Value }
      ? Readonly<Record<string, FromSchema<Value>>>
      : Readonly<Record<string, unknown>>

/** Members that are present after validation: the required ones, and those with a default. */
type Present<Of, Properties> =
  | (Of extends { readonly required: readonly (infer Name)[] } ? Extract<keyof Properties, Name> : never)
  | {
      [Name in keyof Properties]: Properties[Name] extends { readonly default: unknown } ? Name : never
    }[keyof Properties]

type Flat<Type> = { [Name in keyof Type]: Type[Name] }

/** The parameters of a path in fastify's form: `/v1/apis/:name` has `name`. */
export type PathParams<Path extends string> = { readonly [Name in ParamNames<Path>]: string }

type ParamNames<Path extends string> = Path extends `${infer Segment}/${infer Rest}`
  ? ParamNames<Segment> | ParamNames<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never

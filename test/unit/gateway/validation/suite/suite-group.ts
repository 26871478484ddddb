/** Groups of tests in the form of the JSON Schema Test Suite. */

export interface SuiteGroup {
  readonly file: string
  readonly description: string
  readonly schema: unknown
  readonly tests: readonly SuiteTest[]
}

export interface SuiteTest {
  readonly description: string
  readonly data: unknown
  readonly valid: boolean
}

/**
 * Creates a group from a schema, the values that it accepts, and those that it rejects.
 *
 * If the schema is JSON text, the values are too, because a literal cannot have a member `__proto__`.
 */
export function group(
  description: string,
  schema: unknown,
  accepted: readonly unknown[],
  rejected: readonly unknown[],
): SuiteGroup {
  const isText = typeof schema === 'string'
  const toTest = (valid: boolean) => (value: unknown) => {
    const data: unknown = isText ? JSON.parse(String(value)) : value
    return { description: JSON.stringify(data), data, valid }
  }
  return {
    file: 'specification',
    description,
    schema: isText ? JSON.parse(schema) : schema,
    tests: [...accepted.map(toTest(true)), ...rejected.map(toTest(false))],
  }
}

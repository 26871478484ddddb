/**
 * Writes the parameters of a statement into its text, for the embedded engine.
 *
 * The engine runs one statement with parameters at a time in the whole process, whichever connection it is on: a summary of seconds
 * would delay those of every tenant and the notes of a flush. Text becomes hexadecimal digits and numbers are checked, so that no
 * value can end its literal.
 */

/** Names of types come from our own statements. */
const PLACEHOLDER = /\{(\w+):\s*(\w+)(?:\((\w+)\))?\}/g
const INTEGER = /^-?\d{1,20}$/
/** The parser of the engine reads 262,144 bytes. */
const BYTES_MAX = 250_000

/** Returns null if the statement would be longer than the parser reads. */
export function bindParams(query: string, params: Readonly<Record<string, unknown>>): string | null {
  const bound = query.replace(PLACEHOLDER, (_, name: string, type: string, element?: string) => {
    if (!Object.hasOwn(params, name)) throw new Error(`the parameter ${name} of a statement is missing`)
    const value = params[name]
    if (element === undefined) return toLiteral(value, type)
    if (type !== 'Array' || !Array.isArray(value)) throw new Error(`the parameter ${name} of a statement is no array`)
    return `CAST([${value.map((each) => toLiteral(each, element)).join()}], 'Array(${element})')`
  })
  return Buffer.byteLength(bound) > BYTES_MAX ? null : bound
}

function toLiteral(value: unknown, type: string): string {
  if (type === 'String') return `unhex('${Buffer.from(String(value)).toString('hex')}')`
  if (type === 'Float64' && typeof value === 'number' && Number.isFinite(value)) return `CAST(${value}, 'Float64')`
  const digits = String(value)
  if (!/^U?Int\d+$/.test(type) || !INTEGER.test(digits)) throw new Error(`a parameter of a statement is no ${type}`)
  return `CAST(${digits}, '${type}')`
}

/** Labels of a resource: shown, and edited as lines of `key=value`. */

import { TextAreaField } from './fields.tsx'
import { texts } from '../texts.ts'

export type LabelMap = Readonly<Record<string, string>>

export function Labels({ of }: { readonly of: LabelMap }) {
  const entries = Object.entries(of)
  if (entries.length === 0) return <span class="quiet">{texts.labels.none}</span>
  return (
    <ul class="labels">
      {entries.map(([key, value]) => (
        <li key={key}>
          <bdi>
            {key}: {value}
          </bdi>
        </li>
      ))}
    </ul>
  )
}

interface LabelsFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

export function LabelsField({ value, onChange }: LabelsFieldProps) {
  return <TextAreaField label={texts.labels.title} hint={texts.labels.hint} value={value} onChange={onChange} />
}

export function toLines(labels: LabelMap): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')
}

/** The API checks the names and the values. */
export function fromLines(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=')
      return at === -1 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

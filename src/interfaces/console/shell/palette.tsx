/**
 * The command palette: sections, actions, and resources that the service finds by the beginning of a name or an id.
 *
 * A combobox with a list (WAI-ARIA): the focus stays in the field, and the arrow keys move the active option.
 */

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { CallRefused, read } from '../api/client.ts'
import type { Answer } from '../api/operations.ts'
import { Dialog } from '../parts/dialog.tsx'
import { go } from '../router.ts'
import { texts } from '../texts.ts'
import { ACTIONS, PORTAL_ACTIONS } from './actions.ts'
import { may, scopes } from './person.ts'
import { isPortal, sectionsOf } from './portal-sections.tsx'
import { maySee } from './sections.tsx'

interface Option {
  readonly title: string
  readonly detail: string
  readonly path: string
}

type Found = Answer<'/v1/search'>['found'][number]

const { palette: words } = texts
const WAIT_MS = 150
const LENGTH_MAX = 64
const PATHS: Readonly<Record<Found['kind'], string>> = {
  api: 'apis/',
  consumer: 'consumers/',
  subscription: 'subscriptions/',
  product: 'products/',
  programme: 'governance/programmes/',
  user: 'settings/people/',
}
const PORTAL_PATHS: Readonly<Partial<Record<Found['kind'], string>>> = {
  api: 'apis/',
  subscription: 'keys/',
  product: 'apis/products/',
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const { found, isFailed } = useFound(text)
  const options = [...known(text), ...found.flatMap(toOption)]
  const at = Math.min(active, options.length - 1)
  const id = useId()
  const optionId = (index: number): string => `${id}-${index}`
  const open = (option: Option | undefined): void => {
    if (option === undefined) return
    onClose()
    go(option.path)
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && options.length > 0) setActive((at + step + options.length) % options.length)
    else if (event.key === 'Enter') open(options[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title={words.title} onClose={onClose}>
      <input
        class="palette-field"
        role="combobox"
        aria-label={words.label}
        aria-expanded={options.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={at < 0 ? undefined : optionId(at)}
        autofocus
        maxLength={LENGTH_MAX}
        placeholder={words.placeholder}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setActive(0)
        }}
        onKeyDown={onKey}
      />
      <Options id={id} options={options} active={at} optionId={optionId} onOpen={open} />
      <p role="status" class="quiet">
        {isFailed ? words.failed : options.length === 0 ? words.none : words.count(options.length)}
      </p>
    </Dialog>
  )
}

interface OptionsProps {
  readonly id: string
  readonly options: readonly Option[]
  readonly active: number
  readonly optionId: (index: number) => string
  readonly onOpen: (option: Option) => void
}

function Options({ id, options, active, optionId, onOpen }: OptionsProps) {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' })
  }, [active])
  return (
    <ul ref={list} id={id} class="palette" role="listbox" aria-label={words.results} tabIndex={-1}>
      {options.map((option, index) => (
        <li
          key={option.path + option.title}
          id={optionId(index)}
          role="option"
          aria-selected={index === active}
          // The focus stays in the field.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onOpen(option)}
        >
          <bdi>{option.title}</bdi> <bdi class="quiet">{option.detail}</bdi>
        </li>
      ))}
    </ul>
  )
}

/** Sections and actions whose titles contain the text. */
function known(text: string): readonly Option[] {
  const sought = text.trim().toLowerCase()
  const held = scopes.value
  const sections = sectionsOf(held)
    .filter((each) => each.isAlias !== true && maySee(each, held))
    .flatMap((each) => [
      { path: each.path, title: each.title, detail: words.section },
      ...(each.children ?? [])
        .filter((child) => maySee(child, held))
        .map(({ path, title }) => ({ path, title, detail: each.title })),
    ])
  const actions = (isPortal(held) ? PORTAL_ACTIONS : ACTIONS)
    .filter(({ scope }) => may(scope))
    .map(({ path, title }) => ({ path, title, detail: words.action }))
  return [...sections, ...actions].filter(({ title }) => title.toLowerCase().includes(sought))
}

function toOption({ kind, id, name, detail }: Found): readonly Option[] {
  const base = (isPortal(scopes.value) ? PORTAL_PATHS : PATHS)[kind]
  if (base === undefined) return []
  const about = [words.kinds[kind], detail].filter((each) => each !== '').join(' · ')
  return [{ title: name === '' ? id : name, detail: about, path: base + encodeURIComponent(id) }]
}

/** Asks the service when the person stops typing; keeps the last answer meanwhile. */
function useFound(text: string): { readonly found: readonly Found[]; readonly isFailed: boolean } {
  const [found, setFound] = useState<readonly Found[]>([])
  const [isFailed, setFailed] = useState(false)
  useEffect(() => {
    const q = text.trim()
    setFailed(false)
    if (q === '') {
      setFound([])
      return undefined
    }
    const controller = new AbortController()
    const timer = setTimeout(() => {
      read('/v1/search', { query: { q }, signal: controller.signal }).then(
        (answer) => setFound(answer.found),
        (cause: unknown) => {
          if (controller.signal.aborted) return
          if (!(cause instanceof CallRefused)) throw cause
          setFound([])
          setFailed(true)
        },
      )
    }, WAIT_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text])
  return { found, isFailed }
}

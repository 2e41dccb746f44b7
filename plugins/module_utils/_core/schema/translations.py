# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""French and Spanish words for states, days and fields of update runs, for hints: manifests have English ones."""

from __future__ import annotations

import typing as t

from ..values.update_states import (
    AFTER,
    BEFORE,
    COMPLETED,
    FAILED,
    GROUP,
    MEMBER,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STAGE,
    STOPPED,
    STOPPING,
)

# French, then Spanish, in lower case; forms for the feminine too, as the pages have both.
_WORDS: t.Mapping[str, tuple[str, ...]] = {
    NOT_STARTED: ("non démarré", "non démarrée", "pas démarré", "no iniciado", "no iniciada"),
    RUNNING: ("en cours", "en cours d'exécution", "en ejecución", "ejecutándose", "en curso"),
    PENDING: ("en attente", "pendiente"),
    SKIPPED: ("ignoré", "ignorée", "ignorés", "omitido", "omitida"),
    STOPPING: ("arrêt en cours", "en cours d'arrêt", "deteniéndose", "deteniendo"),
    STOPPED: ("arrêté", "arrêtée", "detenido", "detenida"),
    FAILED: ("échec", "échoué", "échouée", "error", "con errores", "erróneo"),
    COMPLETED: ("terminé", "terminée", "completado", "completada"),
    MEMBER: ("membre", "miembro"),
    GROUP: ("groupe", "grupo"),
    STAGE: ("étape", "index", "phase", "fase", "etapa"),
    BEFORE: ("avant", "antes"),
    AFTER: ("après", "después"),
    "Monday": ("lundi", "lunes"),
    "Tuesday": ("mardi", "martes"),
    "Wednesday": ("mercredi", "miércoles"),
    "Thursday": ("jeudi", "jueves"),
    "Friday": ("vendredi", "viernes"),
    "Saturday": ("samedi", "sábado"),
    "Sunday": ("dimanche", "domingo"),
    "Latest": ("dernière", "la plus récente", "más reciente", "última"),
    "Consistent": ("cohérente", "cohérent", "coherente", "consistente"),
}
_FIELDS: t.Mapping[str, tuple[str, ...]] = {
    "stages": ("étapes", "phases", "index", "fases", "etapas"),
    "groups": ("groupes", "grupos"),
    "name": ("nom", "nombre"),
    "strategy": ("stratégie", "estrategia"),
    "state": ("état", "estado"),
    "status": ("statut", "situation"),
    "members": ("membres", "miembros"),
}
_ENGLISH = {word: known for known, words in _WORDS.items() for word in words}
_ENGLISH_FIELD = {word: known for known, words in _FIELDS.items() for word in words}


def english(word: str, known: t.Collection[str]) -> str:
    """A hint with the English word that a French or Spanish one stands for (a state, a day, a level), if it is one of
    ``known``; else empty."""
    return _hint(_ENGLISH.get(_plain(word), ""), known)


def english_field(word: str, fields: t.Iterable[str]) -> str:
    """A hint with the name of the field that a French or Spanish word stands for, if it is one of ``fields``; else
    empty."""
    return _hint(_ENGLISH_FIELD.get(_plain(word), ""), tuple(fields))


def _plain(word: str) -> str:
    """The word in lower case, without spaces around, with a plain apostrophe."""
    return word.strip().lower().replace("\u2019", "'")


def _hint(word: str, known: t.Collection[str]) -> str:
    """To write ``word``, if it is not empty and one of ``known``; else an empty text."""
    return f"names are English in every language: write {word}" if word in known and word else ""

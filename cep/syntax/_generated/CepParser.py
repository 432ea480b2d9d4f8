# Generated from CepParser.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,75,342,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,1,0,5,0,50,8,0,10,0,12,0,53,9,
        0,1,0,1,0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,5,1,65,8,1,10,1,12,1,68,
        9,1,1,1,1,1,5,1,72,8,1,10,1,12,1,75,9,1,1,1,1,1,1,1,1,1,5,1,81,8,
        1,10,1,12,1,84,9,1,1,1,1,1,3,1,88,8,1,1,2,1,2,1,2,1,3,1,3,1,3,3,
        3,96,8,3,1,4,1,4,1,4,1,4,3,4,102,8,4,1,5,1,5,1,5,1,5,1,5,1,5,1,5,
        1,5,1,5,1,5,1,5,1,5,1,5,1,5,3,5,118,8,5,1,6,1,6,1,6,1,6,1,7,1,7,
        1,7,1,7,1,7,5,7,129,8,7,10,7,12,7,132,9,7,1,7,1,7,1,7,1,7,1,7,1,
        7,1,7,3,7,141,8,7,1,8,1,8,1,8,1,8,5,8,147,8,8,10,8,12,8,150,9,8,
        1,8,1,8,1,8,3,8,155,8,8,1,8,3,8,158,8,8,1,9,1,9,1,9,1,9,1,9,1,9,
        1,9,3,9,167,8,9,3,9,169,8,9,1,9,3,9,172,8,9,1,10,1,10,1,10,1,10,
        1,10,1,10,1,10,5,10,181,8,10,10,10,12,10,184,9,10,1,10,1,10,1,10,
        1,10,1,10,3,10,191,8,10,1,10,1,10,1,10,5,10,196,8,10,10,10,12,10,
        199,9,10,3,10,201,8,10,1,11,1,11,1,11,3,11,206,8,11,1,12,1,12,1,
        12,5,12,211,8,12,10,12,12,12,214,9,12,1,13,5,13,217,8,13,10,13,12,
        13,220,9,13,1,13,1,13,3,13,224,8,13,1,14,1,14,1,14,1,14,3,14,230,
        8,14,1,14,1,14,1,14,1,14,3,14,236,8,14,1,15,1,15,1,15,1,15,1,15,
        5,15,243,8,15,10,15,12,15,246,9,15,1,15,1,15,1,15,1,15,1,15,1,15,
        1,15,1,15,1,15,3,15,257,8,15,1,16,1,16,1,16,5,16,262,8,16,10,16,
        12,16,265,9,16,1,17,1,17,1,17,1,17,1,17,1,17,1,17,1,17,3,17,275,
        8,17,1,17,1,17,1,17,1,17,1,17,1,17,3,17,283,8,17,1,17,4,17,286,8,
        17,11,17,12,17,287,1,17,1,17,3,17,292,8,17,1,17,1,17,1,17,1,17,1,
        17,3,17,299,8,17,1,17,1,17,3,17,303,8,17,3,17,305,8,17,1,18,1,18,
        1,18,1,18,3,18,311,8,18,1,18,3,18,314,8,18,1,19,1,19,3,19,318,8,
        19,1,19,1,19,1,19,5,19,323,8,19,10,19,12,19,326,9,19,3,19,328,8,
        19,1,20,1,20,1,20,1,20,1,20,1,21,1,21,1,21,1,22,1,22,1,23,1,23,1,
        23,0,0,24,0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,
        40,42,44,46,0,10,1,0,37,40,1,0,4,6,1,0,5,6,1,0,49,54,1,0,55,59,1,
        0,46,47,1,0,39,43,1,0,28,45,1,0,27,45,3,0,1,4,13,14,18,45,380,0,
        51,1,0,0,0,2,87,1,0,0,0,4,89,1,0,0,0,6,92,1,0,0,0,8,101,1,0,0,0,
        10,117,1,0,0,0,12,119,1,0,0,0,14,140,1,0,0,0,16,157,1,0,0,0,18,171,
        1,0,0,0,20,200,1,0,0,0,22,202,1,0,0,0,24,207,1,0,0,0,26,218,1,0,
        0,0,28,235,1,0,0,0,30,256,1,0,0,0,32,258,1,0,0,0,34,304,1,0,0,0,
        36,313,1,0,0,0,38,327,1,0,0,0,40,329,1,0,0,0,42,334,1,0,0,0,44,337,
        1,0,0,0,46,339,1,0,0,0,48,50,3,2,1,0,49,48,1,0,0,0,50,53,1,0,0,0,
        51,49,1,0,0,0,51,52,1,0,0,0,52,54,1,0,0,0,53,51,1,0,0,0,54,55,5,
        0,0,1,55,1,1,0,0,0,56,57,5,3,0,0,57,58,5,48,0,0,58,88,5,67,0,0,59,
        60,3,4,2,0,60,61,5,61,0,0,61,66,3,6,3,0,62,63,5,65,0,0,63,65,3,6,
        3,0,64,62,1,0,0,0,65,68,1,0,0,0,66,64,1,0,0,0,66,67,1,0,0,0,67,69,
        1,0,0,0,68,66,1,0,0,0,69,73,5,62,0,0,70,72,3,10,5,0,71,70,1,0,0,
        0,72,75,1,0,0,0,73,71,1,0,0,0,73,74,1,0,0,0,74,76,1,0,0,0,75,73,
        1,0,0,0,76,77,5,67,0,0,77,88,1,0,0,0,78,82,3,12,6,0,79,81,3,20,10,
        0,80,79,1,0,0,0,81,84,1,0,0,0,82,80,1,0,0,0,82,83,1,0,0,0,83,85,
        1,0,0,0,84,82,1,0,0,0,85,86,5,67,0,0,86,88,1,0,0,0,87,56,1,0,0,0,
        87,59,1,0,0,0,87,78,1,0,0,0,88,3,1,0,0,0,89,90,5,1,0,0,90,91,3,44,
        22,0,91,5,1,0,0,0,92,93,3,46,23,0,93,95,3,44,22,0,94,96,3,8,4,0,
        95,94,1,0,0,0,95,96,1,0,0,0,96,7,1,0,0,0,97,98,5,35,0,0,98,102,7,
        0,0,0,99,100,5,36,0,0,100,102,5,48,0,0,101,97,1,0,0,0,101,99,1,0,
        0,0,102,9,1,0,0,0,103,104,5,27,0,0,104,105,5,29,0,0,105,118,3,46,
        23,0,106,107,5,28,0,0,107,118,3,42,21,0,108,109,5,33,0,0,109,110,
        5,34,0,0,110,118,3,42,21,0,111,112,5,31,0,0,112,113,5,32,0,0,113,
        118,3,42,21,0,114,115,5,30,0,0,115,116,5,29,0,0,116,118,3,46,23,
        0,117,103,1,0,0,0,117,106,1,0,0,0,117,108,1,0,0,0,117,111,1,0,0,
        0,117,114,1,0,0,0,118,11,1,0,0,0,119,120,5,2,0,0,120,121,3,44,22,
        0,121,122,3,14,7,0,122,13,1,0,0,0,123,124,7,1,0,0,124,125,5,61,0,
        0,125,130,3,14,7,0,126,127,5,65,0,0,127,129,3,14,7,0,128,126,1,0,
        0,0,129,132,1,0,0,0,130,128,1,0,0,0,130,131,1,0,0,0,131,133,1,0,
        0,0,132,130,1,0,0,0,133,134,5,62,0,0,134,141,1,0,0,0,135,136,5,7,
        0,0,136,141,3,14,7,0,137,138,3,44,22,0,138,139,3,16,8,0,139,141,
        1,0,0,0,140,123,1,0,0,0,140,135,1,0,0,0,140,137,1,0,0,0,141,15,1,
        0,0,0,142,143,5,61,0,0,143,148,3,14,7,0,144,145,5,65,0,0,145,147,
        3,14,7,0,146,144,1,0,0,0,147,150,1,0,0,0,148,146,1,0,0,0,148,149,
        1,0,0,0,149,151,1,0,0,0,150,148,1,0,0,0,151,152,5,62,0,0,152,158,
        1,0,0,0,153,155,3,18,9,0,154,153,1,0,0,0,154,155,1,0,0,0,155,156,
        1,0,0,0,156,158,3,44,22,0,157,142,1,0,0,0,157,154,1,0,0,0,158,17,
        1,0,0,0,159,172,5,55,0,0,160,172,5,57,0,0,161,172,5,60,0,0,162,163,
        5,63,0,0,163,168,5,46,0,0,164,166,5,65,0,0,165,167,5,46,0,0,166,
        165,1,0,0,0,166,167,1,0,0,0,167,169,1,0,0,0,168,164,1,0,0,0,168,
        169,1,0,0,0,169,170,1,0,0,0,170,172,5,64,0,0,171,159,1,0,0,0,171,
        160,1,0,0,0,171,161,1,0,0,0,171,162,1,0,0,0,172,19,1,0,0,0,173,174,
        5,8,0,0,174,201,3,24,12,0,175,176,5,9,0,0,176,177,5,29,0,0,177,182,
        3,46,23,0,178,179,5,65,0,0,179,181,3,46,23,0,180,178,1,0,0,0,181,
        184,1,0,0,0,182,180,1,0,0,0,182,183,1,0,0,0,183,201,1,0,0,0,184,
        182,1,0,0,0,185,186,5,10,0,0,186,201,3,42,21,0,187,201,5,11,0,0,
        188,190,5,12,0,0,189,191,5,13,0,0,190,189,1,0,0,0,190,191,1,0,0,
        0,191,192,1,0,0,0,192,197,3,22,11,0,193,194,5,65,0,0,194,196,3,22,
        11,0,195,193,1,0,0,0,196,199,1,0,0,0,197,195,1,0,0,0,197,198,1,0,
        0,0,198,201,1,0,0,0,199,197,1,0,0,0,200,173,1,0,0,0,200,175,1,0,
        0,0,200,185,1,0,0,0,200,187,1,0,0,0,200,188,1,0,0,0,201,21,1,0,0,
        0,202,205,3,24,12,0,203,204,5,14,0,0,204,206,3,46,23,0,205,203,1,
        0,0,0,205,206,1,0,0,0,206,23,1,0,0,0,207,212,3,26,13,0,208,209,7,
        2,0,0,209,211,3,26,13,0,210,208,1,0,0,0,211,214,1,0,0,0,212,210,
        1,0,0,0,212,213,1,0,0,0,213,25,1,0,0,0,214,212,1,0,0,0,215,217,5,
        7,0,0,216,215,1,0,0,0,217,220,1,0,0,0,218,216,1,0,0,0,218,219,1,
        0,0,0,219,221,1,0,0,0,220,218,1,0,0,0,221,223,3,32,16,0,222,224,
        3,28,14,0,223,222,1,0,0,0,223,224,1,0,0,0,224,27,1,0,0,0,225,226,
        7,3,0,0,226,236,3,32,16,0,227,229,5,18,0,0,228,230,5,7,0,0,229,228,
        1,0,0,0,229,230,1,0,0,0,230,231,1,0,0,0,231,236,5,19,0,0,232,233,
        5,7,0,0,233,236,3,30,15,0,234,236,3,30,15,0,235,225,1,0,0,0,235,
        227,1,0,0,0,235,232,1,0,0,0,235,234,1,0,0,0,236,29,1,0,0,0,237,238,
        5,15,0,0,238,239,5,61,0,0,239,244,3,24,12,0,240,241,5,65,0,0,241,
        243,3,24,12,0,242,240,1,0,0,0,243,246,1,0,0,0,244,242,1,0,0,0,244,
        245,1,0,0,0,245,247,1,0,0,0,246,244,1,0,0,0,247,248,5,62,0,0,248,
        257,1,0,0,0,249,250,5,16,0,0,250,251,3,32,16,0,251,252,5,5,0,0,252,
        253,3,32,16,0,253,257,1,0,0,0,254,255,5,17,0,0,255,257,3,32,16,0,
        256,237,1,0,0,0,256,249,1,0,0,0,256,254,1,0,0,0,257,31,1,0,0,0,258,
        263,3,34,17,0,259,260,7,4,0,0,260,262,3,34,17,0,261,259,1,0,0,0,
        262,265,1,0,0,0,263,261,1,0,0,0,263,264,1,0,0,0,264,33,1,0,0,0,265,
        263,1,0,0,0,266,267,5,56,0,0,267,305,3,34,17,0,268,269,5,61,0,0,
        269,270,3,24,12,0,270,271,5,62,0,0,271,305,1,0,0,0,272,274,7,5,0,
        0,273,275,7,6,0,0,274,273,1,0,0,0,274,275,1,0,0,0,275,305,1,0,0,
        0,276,305,5,48,0,0,277,305,5,20,0,0,278,305,5,21,0,0,279,305,5,19,
        0,0,280,282,5,22,0,0,281,283,3,24,12,0,282,281,1,0,0,0,282,283,1,
        0,0,0,283,285,1,0,0,0,284,286,3,40,20,0,285,284,1,0,0,0,286,287,
        1,0,0,0,287,285,1,0,0,0,287,288,1,0,0,0,288,291,1,0,0,0,289,290,
        5,25,0,0,290,292,3,24,12,0,291,289,1,0,0,0,291,292,1,0,0,0,292,293,
        1,0,0,0,293,294,5,26,0,0,294,305,1,0,0,0,295,298,5,27,0,0,296,299,
        5,48,0,0,297,299,3,36,18,0,298,296,1,0,0,0,298,297,1,0,0,0,298,299,
        1,0,0,0,299,305,1,0,0,0,300,302,7,7,0,0,301,303,3,36,18,0,302,301,
        1,0,0,0,302,303,1,0,0,0,303,305,1,0,0,0,304,266,1,0,0,0,304,268,
        1,0,0,0,304,272,1,0,0,0,304,276,1,0,0,0,304,277,1,0,0,0,304,278,
        1,0,0,0,304,279,1,0,0,0,304,280,1,0,0,0,304,295,1,0,0,0,304,300,
        1,0,0,0,305,35,1,0,0,0,306,307,5,66,0,0,307,314,3,46,23,0,308,310,
        5,61,0,0,309,311,3,38,19,0,310,309,1,0,0,0,310,311,1,0,0,0,311,312,
        1,0,0,0,312,314,5,62,0,0,313,306,1,0,0,0,313,308,1,0,0,0,314,37,
        1,0,0,0,315,328,5,57,0,0,316,318,5,13,0,0,317,316,1,0,0,0,317,318,
        1,0,0,0,318,319,1,0,0,0,319,324,3,24,12,0,320,321,5,65,0,0,321,323,
        3,24,12,0,322,320,1,0,0,0,323,326,1,0,0,0,324,322,1,0,0,0,324,325,
        1,0,0,0,325,328,1,0,0,0,326,324,1,0,0,0,327,315,1,0,0,0,327,317,
        1,0,0,0,328,39,1,0,0,0,329,330,5,23,0,0,330,331,3,24,12,0,331,332,
        5,24,0,0,332,333,3,24,12,0,333,41,1,0,0,0,334,335,7,5,0,0,335,336,
        7,6,0,0,336,43,1,0,0,0,337,338,7,8,0,0,338,45,1,0,0,0,339,340,7,
        9,0,0,340,47,1,0,0,0,41,51,66,73,82,87,95,101,117,130,140,148,154,
        157,166,168,171,182,190,197,200,205,212,218,223,229,235,244,256,
        263,274,282,287,291,298,302,304,310,313,317,324,327
    ]

class CepParser ( Parser ):

    grammarFileName = "CepParser.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'STREAM'", "'PATTERN'", "'IMPORT'", "'SEQ'", 
                     "'AND'", "'OR'", "'NOT'", "'WHERE'", "'PARTITION'", 
                     "'WITHIN'", "'UNBOUNDED'", "'RETURN'", "'DISTINCT'", 
                     "'AS'", "'IN'", "'BETWEEN'", "'LIKE'", "'IS'", "'NULL'", 
                     "'TRUE'", "'FALSE'", "'CASE'", "'WHEN'", "'THEN'", 
                     "'ELSE'", "'END'", "'TIMESTAMP'", "'WATERMARK'", "'BY'", 
                     "'ORDER'", "'MAX'", "'AHEAD'", "'IDLE'", "'AFTER'", 
                     "'EPOCH'", "'FORMAT'", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "'<='", "'<'", 
                     "'>='", "'>'", "'+'", "'-'", "'*'", "'/'", "'%'", "'?'", 
                     "'('", "')'", "'{'", "'}'", "','", "'.'", "';'" ]

    symbolicNames = [ "<INVALID>", "STREAM", "PATTERN", "IMPORT", "SEQ", 
                      "AND", "OR", "NOT", "WHERE", "PARTITION", "WITHIN", 
                      "UNBOUNDED", "RETURN", "DISTINCT", "AS", "IN", "BETWEEN", 
                      "LIKE", "IS", "NULL", "TRUE", "FALSE", "CASE", "WHEN", 
                      "THEN", "ELSE", "END", "TIMESTAMP", "WATERMARK", "BY", 
                      "ORDER", "MAX", "AHEAD", "IDLE", "AFTER", "EPOCH", 
                      "FORMAT", "MICROSECOND", "NANOSECOND", "MILLISECOND", 
                      "SECOND", "MINUTE", "HOUR", "DAY", "IDENTIFIER", "QUOTED", 
                      "INTEGER", "DECIMAL", "STRING", "EQ", "NE", "LE", 
                      "LT", "GE", "GT", "PLUS", "MINUS", "STAR", "SLASH", 
                      "PERCENT", "QUESTION", "LPAREN", "RPAREN", "LBRACE", 
                      "RBRACE", "COMMA", "DOT", "SEMI", "LINE_COMMENT", 
                      "BLOCK_COMMENT", "SPACE", "WRONG_OPERATOR", "UNTERMINATED_STRING", 
                      "UNTERMINATED_QUOTED", "UNTERMINATED_COMMENT", "UNKNOWN" ]

    RULE_cepFile = 0
    RULE_statement = 1
    RULE_streamHead = 2
    RULE_column = 3
    RULE_format = 4
    RULE_streamClause = 5
    RULE_patternHead = 6
    RULE_body = 7
    RULE_stepRest = 8
    RULE_quantifier = 9
    RULE_patternClause = 10
    RULE_returnItem = 11
    RULE_expression = 12
    RULE_condition = 13
    RULE_test = 14
    RULE_membership = 15
    RULE_value = 16
    RULE_primary = 17
    RULE_reference = 18
    RULE_arguments = 19
    RULE_when = 20
    RULE_duration = 21
    RULE_identifier = 22
    RULE_word = 23

    ruleNames =  [ "cepFile", "statement", "streamHead", "column", "format", 
                   "streamClause", "patternHead", "body", "stepRest", "quantifier", 
                   "patternClause", "returnItem", "expression", "condition", 
                   "test", "membership", "value", "primary", "reference", 
                   "arguments", "when", "duration", "identifier", "word" ]

    EOF = Token.EOF
    STREAM=1
    PATTERN=2
    IMPORT=3
    SEQ=4
    AND=5
    OR=6
    NOT=7
    WHERE=8
    PARTITION=9
    WITHIN=10
    UNBOUNDED=11
    RETURN=12
    DISTINCT=13
    AS=14
    IN=15
    BETWEEN=16
    LIKE=17
    IS=18
    NULL=19
    TRUE=20
    FALSE=21
    CASE=22
    WHEN=23
    THEN=24
    ELSE=25
    END=26
    TIMESTAMP=27
    WATERMARK=28
    BY=29
    ORDER=30
    MAX=31
    AHEAD=32
    IDLE=33
    AFTER=34
    EPOCH=35
    FORMAT=36
    MICROSECOND=37
    NANOSECOND=38
    MILLISECOND=39
    SECOND=40
    MINUTE=41
    HOUR=42
    DAY=43
    IDENTIFIER=44
    QUOTED=45
    INTEGER=46
    DECIMAL=47
    STRING=48
    EQ=49
    NE=50
    LE=51
    LT=52
    GE=53
    GT=54
    PLUS=55
    MINUS=56
    STAR=57
    SLASH=58
    PERCENT=59
    QUESTION=60
    LPAREN=61
    RPAREN=62
    LBRACE=63
    RBRACE=64
    COMMA=65
    DOT=66
    SEMI=67
    LINE_COMMENT=68
    BLOCK_COMMENT=69
    SPACE=70
    WRONG_OPERATOR=71
    UNTERMINATED_STRING=72
    UNTERMINATED_QUOTED=73
    UNTERMINATED_COMMENT=74
    UNKNOWN=75

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class CepFileContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._statement = None # StatementContext
            self.statements = list() # of StatementContexts

        def EOF(self):
            return self.getToken(CepParser.EOF, 0)

        def statement(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.StatementContext)
            else:
                return self.getTypedRuleContext(CepParser.StatementContext,i)


        def getRuleIndex(self):
            return CepParser.RULE_cepFile




    def cepFile(self):

        localctx = CepParser.CepFileContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_cepFile)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 51
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 14) != 0):
                self.state = 48
                localctx._statement = self.statement()
                localctx.statements.append(localctx._statement)
                self.state = 53
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 54
            self.match(CepParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_statement

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class ImportStatementContext(StatementContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StatementContext
            super().__init__(parser)
            self.path = None # Token
            self.copyFrom(ctx)

        def IMPORT(self):
            return self.getToken(CepParser.IMPORT, 0)
        def SEMI(self):
            return self.getToken(CepParser.SEMI, 0)
        def STRING(self):
            return self.getToken(CepParser.STRING, 0)


    class PatternStatementContext(StatementContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StatementContext
            super().__init__(parser)
            self.head = None # PatternHeadContext
            self._patternClause = None # PatternClauseContext
            self.clauses = list() # of PatternClauseContexts
            self.copyFrom(ctx)

        def SEMI(self):
            return self.getToken(CepParser.SEMI, 0)
        def patternHead(self):
            return self.getTypedRuleContext(CepParser.PatternHeadContext,0)

        def patternClause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.PatternClauseContext)
            else:
                return self.getTypedRuleContext(CepParser.PatternClauseContext,i)



    class StreamStatementContext(StatementContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StatementContext
            super().__init__(parser)
            self.head = None # StreamHeadContext
            self._column = None # ColumnContext
            self.columns = list() # of ColumnContexts
            self._streamClause = None # StreamClauseContext
            self.clauses = list() # of StreamClauseContexts
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def SEMI(self):
            return self.getToken(CepParser.SEMI, 0)
        def streamHead(self):
            return self.getTypedRuleContext(CepParser.StreamHeadContext,0)

        def column(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ColumnContext)
            else:
                return self.getTypedRuleContext(CepParser.ColumnContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)
        def streamClause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.StreamClauseContext)
            else:
                return self.getTypedRuleContext(CepParser.StreamClauseContext,i)




    def statement(self):

        localctx = CepParser.StatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_statement)
        self._la = 0 # Token type
        try:
            self.state = 87
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = CepParser.ImportStatementContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 56
                self.match(CepParser.IMPORT)
                self.state = 57
                localctx.path = self.match(CepParser.STRING)
                self.state = 58
                self.match(CepParser.SEMI)
                pass
            elif token in [1]:
                localctx = CepParser.StreamStatementContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 59
                localctx.head = self.streamHead()
                self.state = 60
                self.match(CepParser.LPAREN)
                self.state = 61
                localctx._column = self.column()
                localctx.columns.append(localctx._column)
                self.state = 66
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 62
                    self.match(CepParser.COMMA)
                    self.state = 63
                    localctx._column = self.column()
                    localctx.columns.append(localctx._column)
                    self.state = 68
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 69
                self.match(CepParser.RPAREN)
                self.state = 73
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 12213813248) != 0):
                    self.state = 70
                    localctx._streamClause = self.streamClause()
                    localctx.clauses.append(localctx._streamClause)
                    self.state = 75
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 76
                self.match(CepParser.SEMI)
                pass
            elif token in [2]:
                localctx = CepParser.PatternStatementContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 78
                localctx.head = self.patternHead()
                self.state = 82
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 7936) != 0):
                    self.state = 79
                    localctx._patternClause = self.patternClause()
                    localctx.clauses.append(localctx._patternClause)
                    self.state = 84
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 85
                self.match(CepParser.SEMI)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StreamHeadContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.name = None # IdentifierContext

        def STREAM(self):
            return self.getToken(CepParser.STREAM, 0)

        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_streamHead




    def streamHead(self):

        localctx = CepParser.StreamHeadContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_streamHead)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 89
            self.match(CepParser.STREAM)
            self.state = 90
            localctx.name = self.identifier()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ColumnContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.name = None # WordContext
            self.type_ = None # IdentifierContext
            self.written = None # FormatContext

        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)


        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)


        def format_(self):
            return self.getTypedRuleContext(CepParser.FormatContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_column




    def column(self):

        localctx = CepParser.ColumnContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_column)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 92
            localctx.name = self.word()
            self.state = 93
            localctx.type_ = self.identifier()
            self.state = 95
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==35 or _la==36:
                self.state = 94
                localctx.written = self.format_()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FormatContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_format

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class EpochFormatContext(FormatContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.FormatContext
            super().__init__(parser)
            self.unit = None # Token
            self.copyFrom(ctx)

        def EPOCH(self):
            return self.getToken(CepParser.EPOCH, 0)
        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)
        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)
        def MICROSECOND(self):
            return self.getToken(CepParser.MICROSECOND, 0)
        def NANOSECOND(self):
            return self.getToken(CepParser.NANOSECOND, 0)


    class TextFormatContext(FormatContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.FormatContext
            super().__init__(parser)
            self.text = None # Token
            self.copyFrom(ctx)

        def FORMAT(self):
            return self.getToken(CepParser.FORMAT, 0)
        def STRING(self):
            return self.getToken(CepParser.STRING, 0)



    def format_(self):

        localctx = CepParser.FormatContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_format)
        self._la = 0 # Token type
        try:
            self.state = 101
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                localctx = CepParser.EpochFormatContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 97
                self.match(CepParser.EPOCH)
                self.state = 98
                localctx.unit = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 2061584302080) != 0)):
                    localctx.unit = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                pass
            elif token in [36]:
                localctx = CepParser.TextFormatContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 99
                self.match(CepParser.FORMAT)
                self.state = 100
                localctx.text = self.match(CepParser.STRING)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StreamClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_streamClause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class IdleClauseContext(StreamClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StreamClauseContext
            super().__init__(parser)
            self.length = None # DurationContext
            self.copyFrom(ctx)

        def IDLE(self):
            return self.getToken(CepParser.IDLE, 0)
        def AFTER(self):
            return self.getToken(CepParser.AFTER, 0)
        def duration(self):
            return self.getTypedRuleContext(CepParser.DurationContext,0)



    class AheadClauseContext(StreamClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StreamClauseContext
            super().__init__(parser)
            self.length = None # DurationContext
            self.copyFrom(ctx)

        def MAX(self):
            return self.getToken(CepParser.MAX, 0)
        def AHEAD(self):
            return self.getToken(CepParser.AHEAD, 0)
        def duration(self):
            return self.getTypedRuleContext(CepParser.DurationContext,0)



    class TimestampClauseContext(StreamClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StreamClauseContext
            super().__init__(parser)
            self.key = None # WordContext
            self.copyFrom(ctx)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)
        def BY(self):
            return self.getToken(CepParser.BY, 0)
        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)



    class OrderClauseContext(StreamClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StreamClauseContext
            super().__init__(parser)
            self.key = None # WordContext
            self.copyFrom(ctx)

        def ORDER(self):
            return self.getToken(CepParser.ORDER, 0)
        def BY(self):
            return self.getToken(CepParser.BY, 0)
        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)



    class WatermarkClauseContext(StreamClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StreamClauseContext
            super().__init__(parser)
            self.length = None # DurationContext
            self.copyFrom(ctx)

        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)
        def duration(self):
            return self.getTypedRuleContext(CepParser.DurationContext,0)




    def streamClause(self):

        localctx = CepParser.StreamClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_streamClause)
        try:
            self.state = 117
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [27]:
                localctx = CepParser.TimestampClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 103
                self.match(CepParser.TIMESTAMP)
                self.state = 104
                self.match(CepParser.BY)
                self.state = 105
                localctx.key = self.word()
                pass
            elif token in [28]:
                localctx = CepParser.WatermarkClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 106
                self.match(CepParser.WATERMARK)
                self.state = 107
                localctx.length = self.duration()
                pass
            elif token in [33]:
                localctx = CepParser.IdleClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 108
                self.match(CepParser.IDLE)
                self.state = 109
                self.match(CepParser.AFTER)
                self.state = 110
                localctx.length = self.duration()
                pass
            elif token in [31]:
                localctx = CepParser.AheadClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 111
                self.match(CepParser.MAX)
                self.state = 112
                self.match(CepParser.AHEAD)
                self.state = 113
                localctx.length = self.duration()
                pass
            elif token in [30]:
                localctx = CepParser.OrderClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 114
                self.match(CepParser.ORDER)
                self.state = 115
                self.match(CepParser.BY)
                self.state = 116
                localctx.key = self.word()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternHeadContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.name = None # IdentifierContext
            self.what = None # BodyContext

        def PATTERN(self):
            return self.getToken(CepParser.PATTERN, 0)

        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)


        def body(self):
            return self.getTypedRuleContext(CepParser.BodyContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_patternHead




    def patternHead(self):

        localctx = CepParser.PatternHeadContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_patternHead)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 119
            self.match(CepParser.PATTERN)
            self.state = 120
            localctx.name = self.identifier()
            self.state = 121
            localctx.what = self.body()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class BodyContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_body

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class AbsenceContext(BodyContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.BodyContext
            super().__init__(parser)
            self.item = None # BodyContext
            self.copyFrom(ctx)

        def NOT(self):
            return self.getToken(CepParser.NOT, 0)
        def body(self):
            return self.getTypedRuleContext(CepParser.BodyContext,0)



    class StepContext(BodyContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.BodyContext
            super().__init__(parser)
            self.name = None # IdentifierContext
            self.rest = None # StepRestContext
            self.copyFrom(ctx)

        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)

        def stepRest(self):
            return self.getTypedRuleContext(CepParser.StepRestContext,0)



    class GroupContext(BodyContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.BodyContext
            super().__init__(parser)
            self.operator = None # Token
            self._body = None # BodyContext
            self.items = list() # of BodyContexts
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def body(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.BodyContext)
            else:
                return self.getTypedRuleContext(CepParser.BodyContext,i)

        def SEQ(self):
            return self.getToken(CepParser.SEQ, 0)
        def AND(self):
            return self.getToken(CepParser.AND, 0)
        def OR(self):
            return self.getToken(CepParser.OR, 0)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)



    def body(self):

        localctx = CepParser.BodyContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_body)
        self._la = 0 # Token type
        try:
            self.state = 140
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [4, 5, 6]:
                localctx = CepParser.GroupContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 123
                localctx.operator = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 112) != 0)):
                    localctx.operator = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 124
                self.match(CepParser.LPAREN)
                self.state = 125
                localctx._body = self.body()
                localctx.items.append(localctx._body)
                self.state = 130
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 126
                    self.match(CepParser.COMMA)
                    self.state = 127
                    localctx._body = self.body()
                    localctx.items.append(localctx._body)
                    self.state = 132
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 133
                self.match(CepParser.RPAREN)
                pass
            elif token in [7]:
                localctx = CepParser.AbsenceContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 135
                self.match(CepParser.NOT)
                self.state = 136
                localctx.item = self.body()
                pass
            elif token in [27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45]:
                localctx = CepParser.StepContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 137
                localctx.name = self.identifier()
                self.state = 138
                localctx.rest = self.stepRest()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StepRestContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_stepRest

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class BoundContext(StepRestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StepRestContext
            super().__init__(parser)
            self.repeat = None # QuantifierContext
            self.var = None # IdentifierContext
            self.copyFrom(ctx)

        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)

        def quantifier(self):
            return self.getTypedRuleContext(CepParser.QuantifierContext,0)



    class SelectedContext(StepRestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StepRestContext
            super().__init__(parser)
            self._body = None # BodyContext
            self.items = list() # of BodyContexts
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def body(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.BodyContext)
            else:
                return self.getTypedRuleContext(CepParser.BodyContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)



    def stepRest(self):

        localctx = CepParser.StepRestContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_stepRest)
        self._la = 0 # Token type
        try:
            self.state = 157
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [61]:
                localctx = CepParser.SelectedContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 142
                self.match(CepParser.LPAREN)
                self.state = 143
                localctx._body = self.body()
                localctx.items.append(localctx._body)
                self.state = 148
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 144
                    self.match(CepParser.COMMA)
                    self.state = 145
                    localctx._body = self.body()
                    localctx.items.append(localctx._body)
                    self.state = 150
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 151
                self.match(CepParser.RPAREN)
                pass
            elif token in [27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 55, 57, 60, 63]:
                localctx = CepParser.BoundContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 154
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & -7890306547153108992) != 0):
                    self.state = 153
                    localctx.repeat = self.quantifier()


                self.state = 156
                localctx.var = self.identifier()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class QuantifierContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_quantifier

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OneOrMoreContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PLUS(self):
            return self.getToken(CepParser.PLUS, 0)


    class ZeroOrMoreContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STAR(self):
            return self.getToken(CepParser.STAR, 0)


    class ZeroOrOneContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def QUESTION(self):
            return self.getToken(CepParser.QUESTION, 0)


    class CountedContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.least = None # Token
            self.upTo = None # Token
            self.most = None # Token
            self.copyFrom(ctx)

        def LBRACE(self):
            return self.getToken(CepParser.LBRACE, 0)
        def RBRACE(self):
            return self.getToken(CepParser.RBRACE, 0)
        def INTEGER(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.INTEGER)
            else:
                return self.getToken(CepParser.INTEGER, i)
        def COMMA(self):
            return self.getToken(CepParser.COMMA, 0)



    def quantifier(self):

        localctx = CepParser.QuantifierContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_quantifier)
        self._la = 0 # Token type
        try:
            self.state = 171
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [55]:
                localctx = CepParser.OneOrMoreContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 159
                self.match(CepParser.PLUS)
                pass
            elif token in [57]:
                localctx = CepParser.ZeroOrMoreContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 160
                self.match(CepParser.STAR)
                pass
            elif token in [60]:
                localctx = CepParser.ZeroOrOneContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 161
                self.match(CepParser.QUESTION)
                pass
            elif token in [63]:
                localctx = CepParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 162
                self.match(CepParser.LBRACE)
                self.state = 163
                localctx.least = self.match(CepParser.INTEGER)
                self.state = 168
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==65:
                    self.state = 164
                    localctx.upTo = self.match(CepParser.COMMA)
                    self.state = 166
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==46:
                        self.state = 165
                        localctx.most = self.match(CepParser.INTEGER)




                self.state = 170
                self.match(CepParser.RBRACE)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_patternClause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class WhereClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.condition_ = None # ExpressionContext
            self.copyFrom(ctx)

        def WHERE(self):
            return self.getToken(CepParser.WHERE, 0)
        def expression(self):
            return self.getTypedRuleContext(CepParser.ExpressionContext,0)



    class PartitionClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self._word = None # WordContext
            self.keys = list() # of WordContexts
            self.copyFrom(ctx)

        def PARTITION(self):
            return self.getToken(CepParser.PARTITION, 0)
        def BY(self):
            return self.getToken(CepParser.BY, 0)
        def word(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.WordContext)
            else:
                return self.getTypedRuleContext(CepParser.WordContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)


    class ReturnClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.distinct = None # Token
            self._returnItem = None # ReturnItemContext
            self.items = list() # of ReturnItemContexts
            self.copyFrom(ctx)

        def RETURN(self):
            return self.getToken(CepParser.RETURN, 0)
        def returnItem(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ReturnItemContext)
            else:
                return self.getTypedRuleContext(CepParser.ReturnItemContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)
        def DISTINCT(self):
            return self.getToken(CepParser.DISTINCT, 0)


    class WithinClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.length = None # DurationContext
            self.copyFrom(ctx)

        def WITHIN(self):
            return self.getToken(CepParser.WITHIN, 0)
        def duration(self):
            return self.getTypedRuleContext(CepParser.DurationContext,0)



    class UnboundedClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def UNBOUNDED(self):
            return self.getToken(CepParser.UNBOUNDED, 0)



    def patternClause(self):

        localctx = CepParser.PatternClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_patternClause)
        self._la = 0 # Token type
        try:
            self.state = 200
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [8]:
                localctx = CepParser.WhereClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 173
                self.match(CepParser.WHERE)
                self.state = 174
                localctx.condition_ = self.expression()
                pass
            elif token in [9]:
                localctx = CepParser.PartitionClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 175
                self.match(CepParser.PARTITION)
                self.state = 176
                self.match(CepParser.BY)
                self.state = 177
                localctx._word = self.word()
                localctx.keys.append(localctx._word)
                self.state = 182
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 178
                    self.match(CepParser.COMMA)
                    self.state = 179
                    localctx._word = self.word()
                    localctx.keys.append(localctx._word)
                    self.state = 184
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [10]:
                localctx = CepParser.WithinClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 185
                self.match(CepParser.WITHIN)
                self.state = 186
                localctx.length = self.duration()
                pass
            elif token in [11]:
                localctx = CepParser.UnboundedClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 187
                self.match(CepParser.UNBOUNDED)
                pass
            elif token in [12]:
                localctx = CepParser.ReturnClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 188
                self.match(CepParser.RETURN)
                self.state = 190
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==13:
                    self.state = 189
                    localctx.distinct = self.match(CepParser.DISTINCT)


                self.state = 192
                localctx._returnItem = self.returnItem()
                localctx.items.append(localctx._returnItem)
                self.state = 197
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 193
                    self.match(CepParser.COMMA)
                    self.state = 194
                    localctx._returnItem = self.returnItem()
                    localctx.items.append(localctx._returnItem)
                    self.state = 199
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ReturnItemContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.what = None # ExpressionContext
            self.alias = None # WordContext

        def expression(self):
            return self.getTypedRuleContext(CepParser.ExpressionContext,0)


        def AS(self):
            return self.getToken(CepParser.AS, 0)

        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_returnItem




    def returnItem(self):

        localctx = CepParser.ReturnItemContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_returnItem)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 202
            localctx.what = self.expression()
            self.state = 205
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==14:
                self.state = 203
                self.match(CepParser.AS)
                self.state = 204
                localctx.alias = self.word()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ExpressionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._condition = None # ConditionContext
            self.terms = list() # of ConditionContexts
            self._AND = None # Token
            self.operators = list() # of Tokens
            self._OR = None # Token
            self._tset559 = None # Token

        def condition(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ConditionContext)
            else:
                return self.getTypedRuleContext(CepParser.ConditionContext,i)


        def AND(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.AND)
            else:
                return self.getToken(CepParser.AND, i)

        def OR(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.OR)
            else:
                return self.getToken(CepParser.OR, i)

        def getRuleIndex(self):
            return CepParser.RULE_expression




    def expression(self):

        localctx = CepParser.ExpressionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_expression)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 207
            localctx._condition = self.condition()
            localctx.terms.append(localctx._condition)
            self.state = 212
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==5 or _la==6:
                self.state = 208
                localctx._tset559 = self._input.LT(1)
                _la = self._input.LA(1)
                if not(_la==5 or _la==6):
                    localctx._tset559 = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                localctx.operators.append(localctx._tset559)
                self.state = 209
                localctx._condition = self.condition()
                localctx.terms.append(localctx._condition)
                self.state = 214
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ConditionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._NOT = None # Token
            self.negations = list() # of Tokens
            self.operand = None # ValueContext
            self.test_ = None # TestContext

        def value(self):
            return self.getTypedRuleContext(CepParser.ValueContext,0)


        def NOT(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.NOT)
            else:
                return self.getToken(CepParser.NOT, i)

        def test(self):
            return self.getTypedRuleContext(CepParser.TestContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_condition




    def condition(self):

        localctx = CepParser.ConditionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_condition)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 218
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==7:
                self.state = 215
                localctx._NOT = self.match(CepParser.NOT)
                localctx.negations.append(localctx._NOT)
                self.state = 220
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 221
            localctx.operand = self.value()
            self.state = 223
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 35465847066034304) != 0):
                self.state = 222
                localctx.test_ = self.test()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TestContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_test

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class PositiveTestContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.positive = None # MembershipContext
            self.copyFrom(ctx)

        def membership(self):
            return self.getTypedRuleContext(CepParser.MembershipContext,0)



    class ComparisonContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.operator = None # Token
            self.right = None # ValueContext
            self.copyFrom(ctx)

        def value(self):
            return self.getTypedRuleContext(CepParser.ValueContext,0)

        def EQ(self):
            return self.getToken(CepParser.EQ, 0)
        def NE(self):
            return self.getToken(CepParser.NE, 0)
        def LT(self):
            return self.getToken(CepParser.LT, 0)
        def LE(self):
            return self.getToken(CepParser.LE, 0)
        def GT(self):
            return self.getToken(CepParser.GT, 0)
        def GE(self):
            return self.getToken(CepParser.GE, 0)


    class NullTestContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.negated = None # Token
            self.copyFrom(ctx)

        def IS(self):
            return self.getToken(CepParser.IS, 0)
        def NULL(self):
            return self.getToken(CepParser.NULL, 0)
        def NOT(self):
            return self.getToken(CepParser.NOT, 0)


    class NegatedTestContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.positive = None # MembershipContext
            self.copyFrom(ctx)

        def NOT(self):
            return self.getToken(CepParser.NOT, 0)
        def membership(self):
            return self.getTypedRuleContext(CepParser.MembershipContext,0)




    def test(self):

        localctx = CepParser.TestContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_test)
        self._la = 0 # Token type
        try:
            self.state = 235
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [49, 50, 51, 52, 53, 54]:
                localctx = CepParser.ComparisonContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 225
                localctx.operator = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 35465847065542656) != 0)):
                    localctx.operator = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 226
                localctx.right = self.value()
                pass
            elif token in [18]:
                localctx = CepParser.NullTestContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 227
                self.match(CepParser.IS)
                self.state = 229
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==7:
                    self.state = 228
                    localctx.negated = self.match(CepParser.NOT)


                self.state = 231
                self.match(CepParser.NULL)
                pass
            elif token in [7]:
                localctx = CepParser.NegatedTestContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 232
                self.match(CepParser.NOT)
                self.state = 233
                localctx.positive = self.membership()
                pass
            elif token in [15, 16, 17]:
                localctx = CepParser.PositiveTestContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 234
                localctx.positive = self.membership()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class MembershipContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_membership

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class LikeContext(MembershipContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.MembershipContext
            super().__init__(parser)
            self.like = None # ValueContext
            self.copyFrom(ctx)

        def LIKE(self):
            return self.getToken(CepParser.LIKE, 0)
        def value(self):
            return self.getTypedRuleContext(CepParser.ValueContext,0)



    class InListContext(MembershipContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.MembershipContext
            super().__init__(parser)
            self._expression = None # ExpressionContext
            self.items = list() # of ExpressionContexts
            self.copyFrom(ctx)

        def IN(self):
            return self.getToken(CepParser.IN, 0)
        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)


    class BetweenContext(MembershipContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.MembershipContext
            super().__init__(parser)
            self.low = None # ValueContext
            self.high = None # ValueContext
            self.copyFrom(ctx)

        def BETWEEN(self):
            return self.getToken(CepParser.BETWEEN, 0)
        def AND(self):
            return self.getToken(CepParser.AND, 0)
        def value(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ValueContext)
            else:
                return self.getTypedRuleContext(CepParser.ValueContext,i)




    def membership(self):

        localctx = CepParser.MembershipContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_membership)
        self._la = 0 # Token type
        try:
            self.state = 256
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [15]:
                localctx = CepParser.InListContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 237
                self.match(CepParser.IN)
                self.state = 238
                self.match(CepParser.LPAREN)
                self.state = 239
                localctx._expression = self.expression()
                localctx.items.append(localctx._expression)
                self.state = 244
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 240
                    self.match(CepParser.COMMA)
                    self.state = 241
                    localctx._expression = self.expression()
                    localctx.items.append(localctx._expression)
                    self.state = 246
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 247
                self.match(CepParser.RPAREN)
                pass
            elif token in [16]:
                localctx = CepParser.BetweenContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 249
                self.match(CepParser.BETWEEN)
                self.state = 250
                localctx.low = self.value()
                self.state = 251
                self.match(CepParser.AND)
                self.state = 252
                localctx.high = self.value()
                pass
            elif token in [17]:
                localctx = CepParser.LikeContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 254
                self.match(CepParser.LIKE)
                self.state = 255
                localctx.like = self.value()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ValueContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._primary = None # PrimaryContext
            self.operands = list() # of PrimaryContexts
            self._PLUS = None # Token
            self.operators = list() # of Tokens
            self._MINUS = None # Token
            self._STAR = None # Token
            self._SLASH = None # Token
            self._PERCENT = None # Token
            self._tset742 = None # Token

        def primary(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.PrimaryContext)
            else:
                return self.getTypedRuleContext(CepParser.PrimaryContext,i)


        def PLUS(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.PLUS)
            else:
                return self.getToken(CepParser.PLUS, i)

        def MINUS(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.MINUS)
            else:
                return self.getToken(CepParser.MINUS, i)

        def STAR(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.STAR)
            else:
                return self.getToken(CepParser.STAR, i)

        def SLASH(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.SLASH)
            else:
                return self.getToken(CepParser.SLASH, i)

        def PERCENT(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.PERCENT)
            else:
                return self.getToken(CepParser.PERCENT, i)

        def getRuleIndex(self):
            return CepParser.RULE_value




    def value(self):

        localctx = CepParser.ValueContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_value)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 258
            localctx._primary = self.primary()
            localctx.operands.append(localctx._primary)
            self.state = 263
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1116892707587883008) != 0):
                self.state = 259
                localctx._tset742 = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 1116892707587883008) != 0)):
                    localctx._tset742 = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                localctx.operators.append(localctx._tset742)
                self.state = 260
                localctx._primary = self.primary()
                localctx.operands.append(localctx._primary)
                self.state = 265
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PrimaryContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_primary

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class NumberContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.number = None # Token
            self.unit = None # Token
            self.copyFrom(ctx)

        def INTEGER(self):
            return self.getToken(CepParser.INTEGER, 0)
        def DECIMAL(self):
            return self.getToken(CepParser.DECIMAL, 0)
        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)
        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)
        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)
        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)
        def DAY(self):
            return self.getToken(CepParser.DAY, 0)


    class NegativeContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.operand = None # PrimaryContext
            self.copyFrom(ctx)

        def MINUS(self):
            return self.getToken(CepParser.MINUS, 0)
        def primary(self):
            return self.getTypedRuleContext(CepParser.PrimaryContext,0)



    class NamedContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.name = None # Token
            self.use = None # ReferenceContext
            self.copyFrom(ctx)

        def IDENTIFIER(self):
            return self.getToken(CepParser.IDENTIFIER, 0)
        def QUOTED(self):
            return self.getToken(CepParser.QUOTED, 0)
        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)
        def BY(self):
            return self.getToken(CepParser.BY, 0)
        def ORDER(self):
            return self.getToken(CepParser.ORDER, 0)
        def MAX(self):
            return self.getToken(CepParser.MAX, 0)
        def AHEAD(self):
            return self.getToken(CepParser.AHEAD, 0)
        def EPOCH(self):
            return self.getToken(CepParser.EPOCH, 0)
        def FORMAT(self):
            return self.getToken(CepParser.FORMAT, 0)
        def MICROSECOND(self):
            return self.getToken(CepParser.MICROSECOND, 0)
        def NANOSECOND(self):
            return self.getToken(CepParser.NANOSECOND, 0)
        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)
        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)
        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)
        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)
        def DAY(self):
            return self.getToken(CepParser.DAY, 0)
        def IDLE(self):
            return self.getToken(CepParser.IDLE, 0)
        def AFTER(self):
            return self.getToken(CepParser.AFTER, 0)
        def reference(self):
            return self.getTypedRuleContext(CepParser.ReferenceContext,0)



    class NullLiteralContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def NULL(self):
            return self.getToken(CepParser.NULL, 0)


    class StringContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.string = None # Token
            self.copyFrom(ctx)

        def STRING(self):
            return self.getToken(CepParser.STRING, 0)


    class FalseLiteralContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def FALSE(self):
            return self.getToken(CepParser.FALSE, 0)


    class CaseExpressionContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.operand_ = None # ExpressionContext
            self._when = None # WhenContext
            self.whens = list() # of WhenContexts
            self.otherwise = None # ExpressionContext
            self.copyFrom(ctx)

        def CASE(self):
            return self.getToken(CepParser.CASE, 0)
        def END(self):
            return self.getToken(CepParser.END, 0)
        def ELSE(self):
            return self.getToken(CepParser.ELSE, 0)
        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)

        def when(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.WhenContext)
            else:
                return self.getTypedRuleContext(CepParser.WhenContext,i)



    class TrueLiteralContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def TRUE(self):
            return self.getToken(CepParser.TRUE, 0)


    class ParenthesisContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.inner = None # ExpressionContext
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def expression(self):
            return self.getTypedRuleContext(CepParser.ExpressionContext,0)



    class TimestampContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.keyword = None # Token
            self.string = None # Token
            self.use = None # ReferenceContext
            self.copyFrom(ctx)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)
        def STRING(self):
            return self.getToken(CepParser.STRING, 0)
        def reference(self):
            return self.getTypedRuleContext(CepParser.ReferenceContext,0)




    def primary(self):

        localctx = CepParser.PrimaryContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_primary)
        self._la = 0 # Token type
        try:
            self.state = 304
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [56]:
                localctx = CepParser.NegativeContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 266
                self.match(CepParser.MINUS)
                self.state = 267
                localctx.operand = self.primary()
                pass
            elif token in [61]:
                localctx = CepParser.ParenthesisContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 268
                self.match(CepParser.LPAREN)
                self.state = 269
                localctx.inner = self.expression()
                self.state = 270
                self.match(CepParser.RPAREN)
                pass
            elif token in [46, 47]:
                localctx = CepParser.NumberContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 272
                localctx.number = self._input.LT(1)
                _la = self._input.LA(1)
                if not(_la==46 or _la==47):
                    localctx.number = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 274
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 17042430230528) != 0):
                    self.state = 273
                    localctx.unit = self._input.LT(1)
                    _la = self._input.LA(1)
                    if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 17042430230528) != 0)):
                        localctx.unit = self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()


                pass
            elif token in [48]:
                localctx = CepParser.StringContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 276
                localctx.string = self.match(CepParser.STRING)
                pass
            elif token in [20]:
                localctx = CepParser.TrueLiteralContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 277
                self.match(CepParser.TRUE)
                pass
            elif token in [21]:
                localctx = CepParser.FalseLiteralContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 278
                self.match(CepParser.FALSE)
                pass
            elif token in [19]:
                localctx = CepParser.NullLiteralContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 279
                self.match(CepParser.NULL)
                pass
            elif token in [22]:
                localctx = CepParser.CaseExpressionContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 280
                self.match(CepParser.CASE)
                self.state = 282
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 2378463553078689920) != 0):
                    self.state = 281
                    localctx.operand_ = self.expression()


                self.state = 285 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 284
                    localctx._when = self.when()
                    localctx.whens.append(localctx._when)
                    self.state = 287 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==23):
                        break

                self.state = 291
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==25:
                    self.state = 289
                    self.match(CepParser.ELSE)
                    self.state = 290
                    localctx.otherwise = self.expression()


                self.state = 293
                self.match(CepParser.END)
                pass
            elif token in [27]:
                localctx = CepParser.TimestampContext(self, localctx)
                self.enterOuterAlt(localctx, 9)
                self.state = 295
                localctx.keyword = self.match(CepParser.TIMESTAMP)
                self.state = 298
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [48]:
                    self.state = 296
                    localctx.string = self.match(CepParser.STRING)
                    pass
                elif token in [61, 66]:
                    self.state = 297
                    localctx.use = self.reference()
                    pass
                elif token in [5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 23, 24, 25, 26, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 62, 65, 67]:
                    pass
                else:
                    pass
                pass
            elif token in [28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45]:
                localctx = CepParser.NamedContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 300
                localctx.name = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 70368475742208) != 0)):
                    localctx.name = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 302
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==61 or _la==66:
                    self.state = 301
                    localctx.use = self.reference()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ReferenceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_reference

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class CallContext(ReferenceContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ReferenceContext
            super().__init__(parser)
            self.args_ = None # ArgumentsContext
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def arguments(self):
            return self.getTypedRuleContext(CepParser.ArgumentsContext,0)



    class AttributeContext(ReferenceContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ReferenceContext
            super().__init__(parser)
            self.attribute_ = None # WordContext
            self.copyFrom(ctx)

        def DOT(self):
            return self.getToken(CepParser.DOT, 0)
        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)




    def reference(self):

        localctx = CepParser.ReferenceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_reference)
        self._la = 0 # Token type
        try:
            self.state = 313
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [66]:
                localctx = CepParser.AttributeContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 306
                self.match(CepParser.DOT)
                self.state = 307
                localctx.attribute_ = self.word()
                pass
            elif token in [61]:
                localctx = CepParser.CallContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 308
                self.match(CepParser.LPAREN)
                self.state = 310
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 2522578741154553984) != 0):
                    self.state = 309
                    localctx.args_ = self.arguments()


                self.state = 312
                self.match(CepParser.RPAREN)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ArgumentsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_arguments

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class StarContext(ArgumentsContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ArgumentsContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STAR(self):
            return self.getToken(CepParser.STAR, 0)


    class ListContext(ArgumentsContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ArgumentsContext
            super().__init__(parser)
            self.distinct = None # Token
            self._expression = None # ExpressionContext
            self.items = list() # of ExpressionContexts
            self.copyFrom(ctx)

        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)
        def DISTINCT(self):
            return self.getToken(CepParser.DISTINCT, 0)



    def arguments(self):

        localctx = CepParser.ArgumentsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_arguments)
        self._la = 0 # Token type
        try:
            self.state = 327
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [57]:
                localctx = CepParser.StarContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 315
                self.match(CepParser.STAR)
                pass
            elif token in [7, 13, 19, 20, 21, 22, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 56, 61]:
                localctx = CepParser.ListContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 317
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==13:
                    self.state = 316
                    localctx.distinct = self.match(CepParser.DISTINCT)


                self.state = 319
                localctx._expression = self.expression()
                localctx.items.append(localctx._expression)
                self.state = 324
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 320
                    self.match(CepParser.COMMA)
                    self.state = 321
                    localctx._expression = self.expression()
                    localctx.items.append(localctx._expression)
                    self.state = 326
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WhenContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.condition_ = None # ExpressionContext
            self.result = None # ExpressionContext

        def WHEN(self):
            return self.getToken(CepParser.WHEN, 0)

        def THEN(self):
            return self.getToken(CepParser.THEN, 0)

        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)


        def getRuleIndex(self):
            return CepParser.RULE_when




    def when(self):

        localctx = CepParser.WhenContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_when)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 329
            self.match(CepParser.WHEN)
            self.state = 330
            localctx.condition_ = self.expression()
            self.state = 331
            self.match(CepParser.THEN)
            self.state = 332
            localctx.result = self.expression()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DurationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.number = None # Token
            self.unit = None # Token

        def INTEGER(self):
            return self.getToken(CepParser.INTEGER, 0)

        def DECIMAL(self):
            return self.getToken(CepParser.DECIMAL, 0)

        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)

        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)

        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)

        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)

        def DAY(self):
            return self.getToken(CepParser.DAY, 0)

        def getRuleIndex(self):
            return CepParser.RULE_duration




    def duration(self):

        localctx = CepParser.DurationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_duration)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 334
            localctx.number = self._input.LT(1)
            _la = self._input.LA(1)
            if not(_la==46 or _la==47):
                localctx.number = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 335
            localctx.unit = self._input.LT(1)
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 17042430230528) != 0)):
                localctx.unit = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class IdentifierContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.token = None # Token

        def IDENTIFIER(self):
            return self.getToken(CepParser.IDENTIFIER, 0)

        def QUOTED(self):
            return self.getToken(CepParser.QUOTED, 0)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)

        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)

        def BY(self):
            return self.getToken(CepParser.BY, 0)

        def ORDER(self):
            return self.getToken(CepParser.ORDER, 0)

        def MAX(self):
            return self.getToken(CepParser.MAX, 0)

        def AHEAD(self):
            return self.getToken(CepParser.AHEAD, 0)

        def EPOCH(self):
            return self.getToken(CepParser.EPOCH, 0)

        def FORMAT(self):
            return self.getToken(CepParser.FORMAT, 0)

        def MICROSECOND(self):
            return self.getToken(CepParser.MICROSECOND, 0)

        def NANOSECOND(self):
            return self.getToken(CepParser.NANOSECOND, 0)

        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)

        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)

        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)

        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)

        def DAY(self):
            return self.getToken(CepParser.DAY, 0)

        def IDLE(self):
            return self.getToken(CepParser.IDLE, 0)

        def AFTER(self):
            return self.getToken(CepParser.AFTER, 0)

        def getRuleIndex(self):
            return CepParser.RULE_identifier




    def identifier(self):

        localctx = CepParser.IdentifierContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_identifier)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 337
            localctx.token = self._input.LT(1)
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 70368609959936) != 0)):
                localctx.token = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WordContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.token = None # Token

        def IDENTIFIER(self):
            return self.getToken(CepParser.IDENTIFIER, 0)

        def QUOTED(self):
            return self.getToken(CepParser.QUOTED, 0)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)

        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)

        def BY(self):
            return self.getToken(CepParser.BY, 0)

        def ORDER(self):
            return self.getToken(CepParser.ORDER, 0)

        def MAX(self):
            return self.getToken(CepParser.MAX, 0)

        def AHEAD(self):
            return self.getToken(CepParser.AHEAD, 0)

        def EPOCH(self):
            return self.getToken(CepParser.EPOCH, 0)

        def FORMAT(self):
            return self.getToken(CepParser.FORMAT, 0)

        def MICROSECOND(self):
            return self.getToken(CepParser.MICROSECOND, 0)

        def NANOSECOND(self):
            return self.getToken(CepParser.NANOSECOND, 0)

        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)

        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)

        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)

        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)

        def DAY(self):
            return self.getToken(CepParser.DAY, 0)

        def IDLE(self):
            return self.getToken(CepParser.IDLE, 0)

        def AFTER(self):
            return self.getToken(CepParser.AFTER, 0)

        def STREAM(self):
            return self.getToken(CepParser.STREAM, 0)

        def PATTERN(self):
            return self.getToken(CepParser.PATTERN, 0)

        def IMPORT(self):
            return self.getToken(CepParser.IMPORT, 0)

        def SEQ(self):
            return self.getToken(CepParser.SEQ, 0)

        def DISTINCT(self):
            return self.getToken(CepParser.DISTINCT, 0)

        def AS(self):
            return self.getToken(CepParser.AS, 0)

        def IS(self):
            return self.getToken(CepParser.IS, 0)

        def NULL(self):
            return self.getToken(CepParser.NULL, 0)

        def TRUE(self):
            return self.getToken(CepParser.TRUE, 0)

        def FALSE(self):
            return self.getToken(CepParser.FALSE, 0)

        def CASE(self):
            return self.getToken(CepParser.CASE, 0)

        def WHEN(self):
            return self.getToken(CepParser.WHEN, 0)

        def THEN(self):
            return self.getToken(CepParser.THEN, 0)

        def ELSE(self):
            return self.getToken(CepParser.ELSE, 0)

        def END(self):
            return self.getToken(CepParser.END, 0)

        def getRuleIndex(self):
            return CepParser.RULE_word




    def word(self):

        localctx = CepParser.WordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 339
            localctx.token = self._input.LT(1)
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 70368743940126) != 0)):
                localctx.token = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





